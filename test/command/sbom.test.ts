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

test('behavior: S-12 the bill of materials has exactly the locked runtime dependencies of the service', () => {
  const options = { cwd: path(''), encoding: 'utf8' } as const;
  const list = JSON.parse(execFileSync('npm', ['run', '--silent', 'sbom'], options));
  const components = list.components as readonly Component[];
  const names = components.map(({ name }) => name);
  const { dependencies } = readJson('packages/server/package.json');
  const direct = Object.keys(dependencies).filter((name) => !name.startsWith('@sluice/'));
  expect(names).toEqual(expect.arrayContaining(direct));
  // Transitive dependencies, and dependencies that development tools use too.
  expect(names).toEqual(
    expect.arrayContaining(['fastq', 'find-my-way', 'thread-stream', 'semver', 'yaml']),
  );
  const { packages } = readJson('package-lock.json');
  const { devDependencies } = readJson('package.json');
  // The lock file does not mark tools that a runtime dependency needs too.
  const isTool = (name: string) => packages[`node_modules/${name}`].dev === true;
  const tools = Object.keys(devDependencies).filter(isTool);
  expect(tools).toEqual(expect.arrayContaining(['vitest', 'typescript', 'apache-arrow']));
  expect(tools.filter((name) => names.includes(name))).toEqual([]);
  expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length);
  const { version, integrity } = packages['node_modules/ws'];
  const ws = components.find(({ name }) => name === 'ws');
  expect(ws?.version).toBe(version);
  const [hash] = ws?.hashes ?? [];
  expect(`sha512-${Buffer.from(hash?.content ?? '', 'hex').toString('base64')}`).toBe(integrity);
});
