import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const path = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const readJson = (file: string) => JSON.parse(readFileSync(path(file), 'utf8'));

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
}

test('behavior: S-12 the list of parts has what the service runs with, as it is locked, and nothing else', () => {
  const args = [path('packages/server/bin/parts.js')];
  const list = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  const components = list.components as readonly Component[];
  const names = components.map(({ name }) => name);
  const { dependencies } = readJson('packages/server/package.json');
  const direct = Object.keys(dependencies).filter((name) => !name.startsWith('@sluice/'));
  expect(names).toEqual(expect.arrayContaining(direct));
  // What others of them need, and what packages of development need too.
  expect(names).toEqual(
    expect.arrayContaining(['fastq', 'find-my-way', 'thread-stream', 'semver']),
  );
  const { devDependencies } = readJson('package.json');
  expect(Object.keys(devDependencies).filter((name) => names.includes(name))).toEqual([]);
  expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length);
  const { version, integrity } = readJson('package-lock.json').packages['node_modules/ws'];
  const ws = components.find(({ name }) => name === 'ws');
  expect(ws?.version).toBe(version);
  const [hash] = ws?.hashes ?? [];
  expect(`sha512-${Buffer.from(hash?.content ?? '', 'hex').toString('base64')}`).toBe(integrity);
});
