import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from './run-command.ts';

let folder: string;
let lock: string;
let journal: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  lock = join(folder, 'lock');
  journal = join(folder, 'journal');
  writeFileSync(journal, '');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const lockModule = pathToFileURL(join(repositoryRoot, 'packages/server/bin/build-lock.js')).href;

/**
 * Starts a process that acquires the lock `rounds` times and records when it holds it. It may be killed while it holds
 * it the last time.
 */
function contend({ rounds, dies = false, waitMsMax = 30_000 }: ContendOptions) {
  const script = `
    import { appendFileSync } from 'node:fs';
    import { takeLock } from ${JSON.stringify(lockModule)};
    const note = (event) => appendFileSync(${JSON.stringify(journal)}, event + ' ' + process.pid + '\\n');
    for (let round = 1; round <= ${rounds}; round++) {
      const options = { waitMsMax: ${waitMsMax}, pollMs: 1, onWait: () => process.stderr.write('waits\\n') };
      const release = await takeLock(${JSON.stringify(lock)}, options);
      if (release === undefined) { process.exitCode = 3; break; }
      note('enter');
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (${dies} && round === ${rounds}) { note('leave'); process.kill(process.pid, 'SIGKILL'); }
      note('leave');
      release();
    }`;
  return runCommand(process.execPath, ['--input-type=module', '-e', script], folder);
}

interface ContendOptions {
  readonly rounds: number;
  readonly dies?: boolean;
  readonly waitMsMax?: number;
}

/** Returns the start time of this process as a lock entry records it. */
function startedOfThis(): string | undefined {
  if (process.platform !== 'linux') return 'unknown';
  const stat = readFileSync('/proc/self/stat', 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

function expectOneAtATime(visitCount: number): void {
  const lines = readFileSync(journal, 'utf8').trimEnd().split('\n');
  expect(lines).toHaveLength(2 * visitCount);
  for (let i = 0; i < lines.length; i += 2) {
    expect(lines[i]).toMatch(/^enter /);
    expect(lines[i + 1]).toBe(lines[i]?.replace('enter', 'leave'));
  }
}

test('default: one process at a time holds the lock, and no files are left', async () => {
  const results = await Promise.all([1, 2, 3, 4].map(() => contend({ rounds: 25 })));
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expectOneAtATime(100);
  expect(readdirSync(lock)).toEqual([]);
});

test('behavior: exactly one waiting process takes over the lock of a killed one', async () => {
  const killed = [5, 10, 15].map((rounds) => contend({ rounds, dies: true }));
  const lasting = [1, 2, 3].map(() => contend({ rounds: 20 }));
  const codes = (await Promise.all([...killed, ...lasting])).map(({ code }) => code);
  expect(codes).toEqual([null, null, null, 0, 0, 0]);
  expectOneAtATime(90);
});

test('behavior: a process that reuses the process id of the dead owner does not hold the lock', async () => {
  mkdirSync(lock);
  writeFileSync(join(lock, '7'), JSON.stringify({ pid: process.pid, started: 'long ago' }));
  const { code } = await contend({ rounds: 1 });
  expect(code).toBe(0);
  expectOneAtATime(1);
});

test('limit: waiting for a living owner ends after a time', async () => {
  mkdirSync(lock);
  writeFileSync(join(lock, '1'), JSON.stringify({ pid: process.pid, started: startedOfThis() }));
  const { code, err } = await contend({ rounds: 1, waitMsMax: 50 });
  expect(code).toBe(3);
  expect(err).toBe('waits\n');
  expect(readdirSync(lock)).toEqual(['1']);
});
