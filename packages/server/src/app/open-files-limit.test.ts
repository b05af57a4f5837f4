import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { AlarmBoard } from '../dataset/alarm-board.ts';
import { HTTP_LIMITS } from '../http/http-limits.ts';
import { boundConnections, refuseFewFiles, watchOpenFiles } from './open-files-limit.ts';

const one = { datasets: 1, threads: 2, readsStore: false };

test('limit: F-55 the connection limit leaves open files for segments, sources and operators; error: open-files-too-few', () => {
  for (const openFilesMax of [200, 1_024, 4_096, 20_000]) {
    const count = boundConnections(openFilesMax, one);
    expect(count).toBeGreaterThanOrEqual(16);
    // There must be files left for segments, at most as many as connections, and for one dataset.
    const segments = Math.min(count, 2_048);
    expect(count + segments + 64).toBeLessThan(openFilesMax);
  }
  expect(boundConnections(1_024, { ...one, datasets: 4 })).toBeLessThan(
    boundConnections(1_024, one),
  );
  // The cache of an object store keeps files open too.
  expect(boundConnections(1_024, { ...one, readsStore: true })).toBeLessThan(
    boundConnections(1_024, one),
  );
  expect(() => boundConnections(64, one)).toThrow(/ulimit -n.*openFilesMax 64, needed 144/);
});

test('error: open-files-too-few: a service does not start if its modules cannot be loaded', () => {
  for (const openFilesMax of [256, 1_024, null]) refuseFewFiles(openFilesMax);
  expect(() => refuseFewFiles(255)).toThrow(/ulimit -n.*openFilesMax 255, needed 256/);
});

test('default: a limit of twenty thousand files is enough for all allowed connections', () => {
  const count = boundConnections(20_000, one);
  expect(count).toBeGreaterThanOrEqual(HTTP_LIMITS.connectionCountMax);
});

test('behavior: an alarm is active while no file can be opened, and every file of the check is closed', async () => {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const stop = new AbortController();
  let free = 3;
  let openCount = 0;
  const openFile = async () => {
    if (openCount === free) throw Object.assign(new Error('too many'), { code: 'EMFILE' });
    openCount++;
    return { close: async () => void openCount-- };
  };
  const running = watchOpenFiles([alarms], { clock, signal: stop.signal, openFile });
  const codes = () => alarms.list().map(({ code }) => code);
  await expect.poll(codes).toEqual(['open-files-exhausted']);
  free = 8;
  clock.advance(2_000);
  await expect.poll(codes).toEqual([]);
  stop.abort();
  await running;
  expect(openCount).toBe(0);
});
