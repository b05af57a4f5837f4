import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { platform } from 'node:process';
import { pathToFileURL } from 'node:url';
import { workerUrl } from '@sluice/base/worker-url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { reachFolder, WriterLock } from './writer-lock.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a process that holds the lock until it is killed. */
async function startOwner(): Promise<{ kill(): Promise<void> }> {
  const url = workerUrl(import.meta.url, './writer-lock.ts').href;
  const script = `const { WriterLock } = await import(${JSON.stringify(url)});
    await WriterLock.acquire(${JSON.stringify(folder)}); process.stdout.write('held');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return {
    kill: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    },
  };
}

test('behavior: modules that are loaded while the lock is held are resolved through links as before', async () => {
  for (const name of ['linked', 'node_modules']) mkdirSync(join(folder, name));
  for (const name of ['before', 'after'])
    writeFileSync(join(folder, 'linked', `${name}.mjs`), 'export const { url } = import.meta;');
  symlinkSync('../linked', join(folder, 'node_modules', 'linked'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const lockUrl = workerUrl(import.meta.url, './writer-lock.ts').href;
  const script = join(folder, 'script.mjs');
  writeFileSync(
    script,
    `const { WriterLock } = await import(${JSON.stringify(lockUrl)});
    const before = await import('linked/before.mjs');
    const lock = await WriterLock.acquire(${JSON.stringify(data)});
    if (!lock.isHeld) throw new Error('The lock is not held.');
    const after = await import('linked/after.mjs');
    process.stdout.write(JSON.stringify([before.url, after.url]));
    await lock.release();`,
  );
  const urls = JSON.parse(execFileSync(process.execPath, [script], { encoding: 'utf8' }));
  const linked = realpathSync(join(folder, 'linked'));
  expect(urls).toEqual(
    ['before', 'after'].map((name) => pathToFileURL(join(linked, `${name}.mjs`)).href),
  );
});

test('error: data-folder-unusable: a path that the system rejects is reported, not retried for ever', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'below'), '/dev/null/below']) {
    const code = 'data-folder-unusable';
    await expect(WriterLock.acquire(path)).rejects.toMatchObject({
      code,
      detail: { folder: path },
    });
  }
});

test.runIf(platform === 'linux')(
  'error: data-folder-unusable: a folder below /proc is reported, where the mkdir of Node never returns',
  async () => {
    const code = 'data-folder-unusable';
    await expect(WriterLock.acquire('/proc/sluice/below')).rejects.toMatchObject({ code });
  },
);

test('error: F-26 data-folder-locked: a second process is rejected while the first one lives', async () => {
  const owner = await startOwner();
  await expect(WriterLock.acquire(folder)).rejects.toMatchObject({
    code: 'data-folder-locked',
    detail: { folder },
  });
  await owner.kill();
});

test('behavior: F-26 the lock of a killed process can be acquired', async () => {
  await (await startOwner()).kill();
  const lock = await WriterLock.acquire(folder);
  expect(lock.isHeld).toBe(true);
  await expect(WriterLock.acquire(folder)).rejects.toMatchObject({ code: 'data-folder-locked' });
  await lock.release();
  const next = await WriterLock.acquire(folder);
  await next.release();
});

test('behavior: one of many processes that find a dead lock at once acquires it', async () => {
  await (await startOwner()).kill();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, () => WriterLock.acquire(folder)),
  );
  const held = outcomes.flatMap((one) =>
    one.status === 'fulfilled' && one.value.isHeld ? [one.value] : [],
  );
  expect(held).toHaveLength(1);
  for (const one of outcomes) if (one.status === 'fulfilled') await one.value.release();
});

test('behavior: I-16 an owner whose socket file was removed notices that it lost the lock', async () => {
  const lock = await WriterLock.acquire(folder);
  rmSync(join(folder, 'writer.sock'));
  expect(lock.isHeld).toBe(false);
  await lock.release();
});

test('behavior: I-91 a lost lock is reacquired in a new term', async () => {
  const lock = await WriterLock.acquire(folder);
  rmSync(join(folder, 'writer.sock'));
  await lock.reacquire();
  expect([lock.isHeld, lock.term]).toEqual([true, 1]);
  await expect(WriterLock.acquire(folder)).rejects.toMatchObject({ code: 'data-folder-locked' });
  await lock.reacquire();
  expect(lock.term).toBe(1);
  await lock.release();
});

test('error: I-16 data-folder-locked: a lock that another process holds meanwhile is neither reacquired nor removed', async () => {
  const lock = await WriterLock.acquire(folder);
  rmSync(join(folder, 'writer.sock'));
  const owner = await startOwner();
  await expect(lock.reacquire()).rejects.toMatchObject({ code: 'data-folder-locked' });
  await lock.release();
  await expect(WriterLock.acquire(folder)).rejects.toMatchObject({ code: 'data-folder-locked' });
  // When the other process has died, its lock is free.
  await owner.kill();
  await lock.reacquire();
  expect(lock.isHeld).toBe(true);
  await lock.release();
});

test('limit: a folder with a long path is locked inside, whatever the temporary folder is', async () => {
  const deep = join(folder, 'a'.repeat(90), 'b'.repeat(90));
  mkdirSync(deep, { recursive: true });
  const lock = await WriterLock.acquire(deep);
  const other = mkdtempSync(join(folder, 'tmp-'));
  vi.stubEnv('TMPDIR', other);
  expect(tmpdir()).toBe(other);
  await expect(WriterLock.acquire(deep)).rejects.toMatchObject({ code: 'data-folder-locked' });
  expect([lock.isHeld, readdirSync(deep)]).toEqual([true, ['writer.sock']]);
  await lock.release();
  const next = await WriterLock.acquire(deep);
  rmSync(join(deep, 'writer.sock'));
  await next.reacquire();
  expect([next.isHeld, next.term]).toEqual([true, 1]);
  await next.release();
  vi.unstubAllEnvs();
});

test('limit: where open folders have no short path, a symbolic link leads to the same socket', async () => {
  const deep = join(folder, 'a'.repeat(90), 'b'.repeat(90));
  mkdirSync(deep, { recursive: true });
  const lock = await WriterLock.acquire(deep);
  const reached = reachFolder(deep, 'darwin');
  const path = join(reached.path, 'writer.sock');
  expect(Buffer.byteLength(path)).toBeLessThan(100);
  const answer = await new Promise((resolve) => {
    const socket = connect(path, () => resolve(socket.destroy() && 'connected'));
    socket.once('error', resolve);
  });
  expect(answer).toBe('connected');
  reached.close();
  expect(existsSync(dirname(reached.path))).toBe(false);
  await lock.release();
});
