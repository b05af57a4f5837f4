import { PassThrough } from 'node:stream';
import { ERRORS } from '@sluice/base/errors';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { loadCommands } from '../../packages/server/src/cli/commands.ts';
import { buildProgram } from '../../packages/server/src/cli/main.ts';
import { readRepository } from './read-repository.ts';
import { findBans } from './rules/bans.ts';
import { findForeignBrands } from './rules/brands.ts';
import { castCountMax, findCastsBeyond } from './rules/casts.ts';
import {
  type CommandEntry,
  findBrokenLinks,
  findBrokenReferences,
  findCommandFaults,
  findErrorFaults,
} from './rules/docs.ts';
import { findBarrels, findCycles, findDeadFiles } from './rules/imports.ts';
import { findLayerBreaches } from './rules/layers.ts';
import { findEagerImports } from './rules/on-demand.ts';
import { findDependencyFaults, findLockFaults } from './rules/packages.ts';
import { findTestFaults } from './rules/tests.ts';
import {
  findBadNames,
  findLargeFiles,
  findLargeFolders,
  findMarks,
  findOutsidePaths,
} from './rules/text.ts';
import { type Finding, parseSource, type RepositoryFile } from './source-file.ts';

const files = readRepository();
const sources = files
  .filter(({ path }) => /\.(tsx?|js)$/.test(path) && !path.endsWith('.d.ts'))
  .map(parseSource);

function fileAt(path: string): RepositoryFile {
  const file = files.find((candidate) => candidate.path === path);
  expect(file, path).toBeDefined();
  return file as RepositoryFile;
}

function expectNone(findings: readonly Finding[]): void {
  const lines = findings.map(({ path, line, message }) =>
    line === undefined ? `${path}: ${message}` : `${path}:${line}: ${message}`,
  );
  expect(lines).toEqual([]);
}

test('default: the rules see the repository', () => {
  expect(sources.length).toBeGreaterThan(20);
  expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(40);
});

test('behavior: imports go only to lower layers', () => expectNone(findLayerBreaches(sources)));
test('behavior: there are no import cycles', () => expectNone(findCycles(sources)));
test('behavior: a service on one machine loads no code for several machines', () =>
  expectNone(findEagerImports(sources)));
test('behavior: no file re-exports from another', () => expectNone(findBarrels(sources)));
test('behavior: every file is used', () => expectNone(findDeadFiles(sources)));
test('behavior: the code uses no banned constructs', () => expectNone(findBans(sources)));
test('behavior: only the file of a brand creates its values', () =>
  expectNone(findForeignBrands(sources)));
test('limit: product code has few casts', () => expectNone(findCastsBeyond(sources, castCountMax)));
test('behavior: all tests have proper names and are enabled', () =>
  expectNone(findTestFaults(sources)));
test('behavior: no file contains marks of unfinished work', () => expectNone(findMarks(files)));
test('behavior: files refer only to the project itself', () => expectNone(findOutsidePaths(files)));
test('behavior: file names are meaningful', () => expectNone(findBadNames(files)));
test('limit: no file is too large', () => expectNone(findLargeFiles(files)));
test('limit: no folder has too many files', () => expectNone(findLargeFolders(files)));
test('behavior: links and paths in documents exist', () => expectNone(findBrokenLinks(files)));

test('behavior: documents that sources refer to exist', () => {
  expectNone(findBrokenReferences(files));
});

test('behavior: S-12 the lock file works with any registry and has no native runtime dependencies', () => {
  expectNone(findLockFaults(fileAt('package-lock.json')));
});

test('behavior: S-14 threads get no environment variables', () => {
  const starting = sources.filter(
    ({ path, text }) => path.startsWith('packages/') && text.includes('new Worker('),
  );
  expect(starting.length).toBeGreaterThan(3);
  for (const { path, text } of starting) {
    const [startCount, emptyCount] = ['new Worker(', 'env: {}'].map(
      (one) => text.split(one).length,
    );
    expect(emptyCount, path).toBe(startCount);
  }
});

test('limit: S-12 the runtime dependencies are few and exact', () => {
  const manifests = files.filter(({ path }) => /^packages\/[^/]+\/package\.json$/.test(path));
  expect(manifests).toHaveLength(13);
  expectNone(findDependencyFaults(manifests));
});

test('behavior: exactly the existing error codes are documented', () => {
  expectNone(findErrorFaults(fileAt('docs/errors.md'), ERRORS));
});

test('behavior: exactly the existing commands and options are documented', async () => {
  const context = { out: new PassThrough(), err: new PassThrough() };
  const program = buildProgram(context, await loadCommands());
  expectNone(findCommandFaults(fileAt('docs/cli.md'), listCommands(program)));
});

/** Returns the executable commands. A group of commands without arguments, such as `dataset`, is described by its members. */
function listCommands(parent: Command, prefix = ''): CommandEntry[] {
  return parent.commands.flatMap((command) => {
    const name = `${prefix}${command.name()}`;
    const options = command.options.flatMap(({ long }) => (long ? [long] : []));
    const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
    return [...(isGroup ? [] : [{ name, options }]), ...listCommands(command, `${name} `)];
  });
}
