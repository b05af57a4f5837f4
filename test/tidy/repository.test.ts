import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { ERRORS } from '../../packages/server/src/base/errors.ts';
import { loadCommands } from '../../packages/server/src/cli/commands.ts';
import { buildProgram } from '../../packages/server/src/cli/main.ts';
import { readRepository } from './read-repository.ts';
import { findBans } from './rules/bans.ts';
import {
  type CommandEntry,
  findBrokenLinks,
  findBrokenReferences,
  findCommandFaults,
  findErrorFaults,
} from './rules/docs.ts';
import { findBarrels, findCycles, findDeadFiles } from './rules/imports.ts';
import { findLayerBreaches } from './rules/layers.ts';
import { findDependencyFaults, findLockFaults } from './rules/packages.ts';
import { findTestFaults } from './rules/tests.ts';
import { findBadNames, findLargeFiles, findMarks, findOutsidePaths } from './rules/text.ts';
import { type Finding, parseSource, type RepositoryFile } from './source-file.ts';

const files = readRepository();
const sources = files
  .filter(({ path }) => /\.(ts|js)$/.test(path) && !path.endsWith('.d.ts'))
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

test('behavior: imports go down the layers', () => expectNone(findLayerBreaches(sources)));
test('behavior: imports make no cycle', () => expectNone(findCycles(sources)));
test('behavior: no file passes on what another exports', () => expectNone(findBarrels(sources)));
test('behavior: every file is used', () => expectNone(findDeadFiles(sources)));
test('behavior: the code does nothing that is banned', () => expectNone(findBans(sources)));
test('behavior: tests have names and run', () => expectNone(findTestFaults(sources)));
test('behavior: nothing is marked unfinished', () => expectNone(findMarks(files)));
test('behavior: the project speaks of itself', () => expectNone(findOutsidePaths(files)));
test('behavior: files have names that say something', () => expectNone(findBadNames(files)));
test('limit: no file is large', () => expectNone(findLargeFiles(files)));
test('behavior: pages name only what is there', () => expectNone(findBrokenLinks(files)));

test('behavior: sources name only pages that are there', () => {
  expectNone(findBrokenReferences(files));
});

test('behavior: S-12 the lock file works with any registry and installs nothing native to run', () => {
  expectNone(findLockFaults(fileAt('package-lock.json')));
});

test('behavior: S-14 threads get nothing of the environment', () => {
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
  expect(manifests).toHaveLength(4);
  expectNone(findDependencyFaults(manifests));
});

test('behavior: every error code is documented, and none beyond', () => {
  expectNone(findErrorFaults(fileAt('docs/errors.md'), ERRORS));
});

test('behavior: every command and option is documented, and none beyond', async () => {
  const context = { out: new PassThrough(), err: new PassThrough() };
  const program = buildProgram(context, await loadCommands());
  expectNone(findCommandFaults(fileAt('docs/cli.md'), listCommands(program)));
});

/** The commands that do something; one that only gathers others, as `dataset`, is described by those. */
function listCommands(parent: Command, prefix = ''): CommandEntry[] {
  return parent.commands.flatMap((command) => {
    const name = `${prefix}${command.name()}`;
    if (command.commands.length > 0) return listCommands(command, `${name} `);
    return [{ name, options: command.options.flatMap(({ long }) => (long ? [long] : [])) }];
  });
}
