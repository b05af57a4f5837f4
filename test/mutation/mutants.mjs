/** Makes the mutants of a folder: every small change of its code, each behind a switch that is off at first. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { hashOf } from './hash.mjs';
import { wordingIgnorer } from './wording.mjs';

const silent = { debug() {}, info() {}, warn() {}, isDebugEnabled: () => false };

/** Returns the changed sources by path, and the mutants: their number in the changed code, and a key that is stable. */
export async function makeMutants(folder, part) {
  const root = join('packages/server/src', folder);
  const names = readdirSync(root, { recursive: true })
    .map((path) => resolve(root, path))
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|\/testing\//.test(path))
    .filter((path) => relative(root, path).includes(part))
    .sort();
  const inputs = names.map((name) => ({
    name,
    content: readFileSync(name, 'utf8'),
    mutate: true,
  }));
  const options = { ignorers: [wordingIgnorer], excludedMutations: [], plugins: null };
  const { files, mutants } = await new Instrumenter(silent).instrument(inputs, options);
  const sources = new Map(inputs.map(({ name, content }) => [name, content]));
  return {
    sources,
    code: Object.fromEntries(files.map(({ name, content }) => [name, content])),
    mutants: mutants
      .filter(({ status }) => status !== 'Ignored')
      .map((mutant) => ({ ...mutant, key: keyOf(mutant, sources.get(mutant.fileName)) })),
  };
}

/** A change of the file gives all its mutants new keys, so their earlier results no longer count. */
function keyOf({ fileName, location, mutatorName, replacement }, source) {
  const { start, end } = location;
  const range = `${start.line}:${start.column}-${end.line}:${end.column}`;
  return hashOf([fileName, hashOf(source), range, mutatorName, replacement].join('\n'));
}
