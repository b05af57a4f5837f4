import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';
import { copyAgain, copyBuild, copyRepository, linkPackages } from './make-fresh-copy.ts';
import { type CommandResult, runCommand } from './run-command.ts';

const versionOnly = /^\d+\.\d+\.\d+\n$/;
const stampFile = 'packages/server/dist/.stamp';
// A source that is not part of the repository, so that it can be deleted without breaking another one. No package
// depends on the benchmarks, so that little has to be rebuilt.
const addedFile = 'bench/added.ts';
const addedOutput = 'bench/dist/added.js';

// Some of these tests build the whole repository, possibly on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/** The first command in this repository, if the test run began with it. A repository with a build skips its tests. */
const freshResult = inject('firstCommand');
/** A copy of the repository without a build, of which the tests make their own copies. */
let unbuilt: string;
const folders: string[] = [];

beforeAll(() => {
  unbuilt = keep(copyRepository());
});

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Registers a folder, which is removed after the tests. */
function keep(folder: string): string {
  folders.push(folder);
  return folder;
}

function sluice(root: string, ...args: string[]): Promise<CommandResult> {
  return runCommand(join(root, 'node_modules/.bin/sluice'), args, tmpdir());
}

function countBuilds(...results: CommandResult[]): number {
  return results.map(({ err }) => err.split('sluice: building').length - 1).reduce((a, b) => a + b);
}

describe.skipIf(freshResult === null)('the first command in a repository without a build', () => {
  const { code, out, err } = freshResult ?? { code: null, out: '', err: '' };

  test('default: npx sluice works, and its build prints only to stderr', () => {
    expect(code, err).toBe(0);
    expect(out).toMatch(versionOnly);
    expect(countBuilds({ code, out, err })).toBe(1);
  });

  test('default: the build says that it takes a while, and prints its progress', () => {
    expect(err).toMatch(/^sluice: building for the first time, .*\n/);
    const kernels = [...err.matchAll(/^sluice: compiling kernel (\d+) of (\d+): /gm)];
    const total = Number(kernels[0]?.[2]);
    expect(kernels.map(([, number]) => Number(number))).toEqual(
      Array.from({ length: total }, (_, i) => i + 1),
    );
    expect(total).toBeGreaterThan(1);
    expect(err).toContain('sluice: compiled TypeScript\n');
    expect(err).toContain('sluice: bundled the web application\n');
  });
});

test('default: the linked command runs from another folder, without a second build', async () => {
  const { code, out, err } = await sluice(repositoryRoot, '--version');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(versionOnly);
});

test('behavior: the file that npm links is in the repository and executable', () => {
  const args = ['ls-files', '--stage', 'packages/server/bin/sluice.js'];
  const entry = execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' });
  expect(entry).toMatch(/^100755 /);
});

// These tests share one copy with its build, so that only the sources that a test changes are rebuilt. Each needs another
// build: one that is killed, one of two concurrent commands, one after each change, and one that fails.
describe('changed sources', () => {
  const hasStamp = () => existsSync(join(root, stampFile));
  let root: string;
  let hadStampAfterKill: boolean;
  let results: CommandResult[];
  beforeAll(async () => {
    root = keep(copyAgain(unbuilt));
    copyBuild(root);
    linkPackages(root, 'files');
    writeFileSync(join(root, addedFile), 'export const added = 1;\n');
    await killWhileBuilding(root);
    hadStampAfterKill = hasStamp();
    const printVersion = () => sluice(root, '--version');
    results = await Promise.all([printVersion(), printVersion()]);
  });

  test('behavior: the next command repeats a killed build', () => {
    expect(hadStampAfterKill).toBe(false);
    expect(countBuilds(...results)).toBe(1);
    expect(hasStamp()).toBe(true);
  });

  test('behavior: of two concurrent commands one builds and the other waits', () => {
    for (const { code, err } of results) expect(code, err).toBe(0);
    expect(countBuilds(...results)).toBe(1);
  });

  test('behavior: a changed source is built before the command runs', async () => {
    expect(readFileSync(join(root, addedOutput), 'utf8')).toContain('added = 1');
    writeFileSync(join(root, addedFile), 'export const added = 22;\n');
    expect(countBuilds(await sluice(root, '--version'))).toBe(1);
    expect(readFileSync(join(root, addedOutput), 'utf8')).toContain('added = 22');
  });

  test('behavior: a deleted source is noticed, and its build output is removed', async () => {
    rmSync(join(root, addedFile));
    expect(countBuilds(await sluice(root, '--version'))).toBe(1);
    const built = dirname(join(root, addedOutput));
    expect(readdirSync(built).filter((name) => name.startsWith('added'))).toEqual([]);
  });

  test('error: a broken source is reported with exit code 70 and does not count as built', async () => {
    writeFileSync(join(root, addedFile), "export const broken: number = 'text';\n");
    const { code, out, err } = await sluice(root, '--version');
    expect({ code, out }).toEqual({ code: 70, out: '' });
    expect(err).toContain(addedFile);
    expect(err).toMatch(
      /\nsluice: the build failed: typescript\/bin\/tsc failed; the lines above say why\n$/,
    );
    expect(hasStamp()).toBe(false);
  });
});

/** Kills the build and its compilers as soon as it reports that it builds. */
async function killWhileBuilding(root: string): Promise<void> {
  const builder = spawn(process.execPath, [join(root, 'packages/server/bin/build.js')], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => {
    builder.on('close', (_code, signal) => resolve(signal));
  });
  builder.stderr.once('data', () => process.kill(-(builder.pid as number), 'SIGKILL'));
  expect(await ended).toBe('SIGKILL');
}

test('behavior: without sources the existing build runs', async () => {
  const root = keep(copyAgain(unbuilt));
  copyBuild(root);
  linkPackages(root, 'folders');
  for (const name of readdirSync(join(root, 'packages'))) {
    rmSync(join(root, 'packages', name, 'src'), { recursive: true, force: true });
  }
  const { code, out, err } = await sluice(root, '--version');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(versionOnly);
});

test('error: a copy with neither sources nor a build reports that', async () => {
  const root = keep(copyAgain(unbuilt));
  linkPackages(root, 'folders');
  rmSync(join(root, 'packages/server/src'), { recursive: true });
  const { code, out, err } = await sluice(root, '--version');
  expect({ code, out }).toEqual({ code: 70, out: '' });
  expect(err).toBe('sluice: there is neither a build nor sources to build it from\n');
});

test('error: a read-only copy with changed sources reports who must build', async () => {
  const root = keep(copyAgain(unbuilt));
  copyBuild(root);
  writeFileSync(join(root, addedFile), 'export const added = 1;\n');
  execFileSync('chmod', ['-R', 'a+rX,a-w', root]);
  const args = [join(root, 'packages/server/bin/sluice.js'), '--version'];
  // The root user may write everywhere.
  const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const { status, stderr } = spawnSync(process.execPath, args, { ...other, encoding: 'utf8' });
  execFileSync('chmod', ['-R', 'u+w', root]);
  expect([status, stderr]).toEqual([
    70,
    expect.stringContaining('run `npm run build` as a user who'),
  ]);
});

test('error: without installed packages the build reports what to do', async () => {
  const root = keep(copyAgain(unbuilt));
  const args = [join(root, 'packages/server/bin/sluice.js'), '--version'];
  const { code, err } = await runCommand(process.execPath, args, root);
  expect(code).toBe(70);
  expect(err).toContain('run `npm ci` in');
});

test('error: the exit code distinguishes a wrong command line from a failure', async () => {
  const wrongCommand = await sluice(repositoryRoot, 'simulat');
  expect({ code: wrongCommand.code, out: wrongCommand.out }).toEqual({ code: 2, out: '' });
  expect(wrongCommand.err).toContain('(Did you mean simulate?)');
  const wrongOption = await sluice(repositoryRoot, 'simulate', '--sed', '1');
  expect({ code: wrongOption.code, out: wrongOption.out }).toEqual({ code: 2, out: '' });
  expect(wrongOption.err).toContain('(Did you mean --seed?)');
  const nowhere = join(unbuilt, 'no-such-folder', 'blocks.jsonl');
  const impossible = await sluice(repositoryRoot, 'simulate', '--blocks', '1', '--out', nowhere);
  expect({ code: impossible.code, out: impossible.out }).toEqual({ code: 1, out: '' });
  expect(impossible.err).toContain('[cli-file-unwritable]');
});
