import { PassThrough } from 'node:stream';
import type { Clock } from '@sluice/base/clock';
import { expect, test } from 'vitest';
import { Progress } from './progress.ts';

function create(isTerminal: boolean, total?: number) {
  const clock = { atMs: 0, nowMs: () => clock.atMs, unixMs: () => 0, sleep: async () => undefined };
  const err = Object.assign(new PassThrough(), { isTTY: isTerminal });
  const progress = new Progress(
    { ...(total === undefined ? {} : { total }), unit: 'blocks' },
    { err, clock: clock satisfies Clock },
  );
  const add = (afterMs: number) => {
    clock.atMs += afterMs;
    progress.add(1, 500_000);
  };
  return { progress, add, text: () => String(err.read() ?? '') };
}

test('default: without a terminal, a line is printed every five seconds and at the end', () => {
  const { progress, add, text } = create(false, 10);
  add(100);
  add(100);
  expect(text()).toBe('');
  add(4_800);
  expect(text()).toBe('3 of 10 blocks, 1.5 MB, 1 blocks/s, 0.3 MB/s, 30 %, 12 s left\n');
  add(1_000);
  progress.finish();
  expect(text()).toBe('4 of 10 blocks, 2.0 MB, 1 blocks/s, 0.3 MB/s, 40 %, 9 s left\n');
});

test('behavior: without a terminal, the end prints no line that was printed already', () => {
  const { progress, add, text } = create(false, 10);
  add(5_000);
  expect(text()).toBe('1 of 10 blocks, 0.5 MB, 0 blocks/s, 0.1 MB/s, 10 %, 45 s left\n');
  progress.finish();
  expect(text()).toBe('');
});

test('behavior: on a terminal, a bar is redrawn in place', () => {
  const { progress, add, text } = create(true, 10);
  add(50);
  expect(text()).toBe('');
  add(50);
  expect(text()).toBe(
    `\r[${'#'.repeat(6)}${'-'.repeat(24)}] 2 of 10 blocks, 1.0 MB, 20 blocks/s, 10.0 MB/s, 20 %, 1 s left\x1b[K`,
  );
  for (let count = 0; count < 8; count++) add(0);
  progress.finish();
  expect(text()).toMatch(/^\r\[#{30}\] 10 of 10 blocks, .*, 100 %/);
});

test('behavior: without a total only the finished amount is shown', () => {
  const { progress, add, text } = create(true);
  add(100);
  expect(text()).toBe('\r1 blocks, 0.5 MB, 10 blocks/s, 5.0 MB/s\x1b[K');
  progress.finish();
  expect(text()).toBe('\r1 blocks, 0.5 MB, 10 blocks/s, 5.0 MB/s\x1b[K\n');
});

test('behavior: with a known share, the share and the remaining time are shown', () => {
  const clock = { atMs: 0, nowMs: () => clock.atMs, unixMs: () => 0, sleep: async () => undefined };
  const err = new PassThrough();
  let share = 0;
  const progress = new Progress({ unit: 'blocks', share: () => share }, { err, clock });
  clock.atMs = 10_000;
  progress.add(20, 1_000_000);
  expect(String(err.read())).toBe('20 blocks, 1.0 MB, 2 blocks/s, 0.1 MB/s, 0 %\n');
  share = 0.25;
  progress.finish();
  expect(String(err.read())).toBe('20 blocks, 1.0 MB, 2 blocks/s, 0.1 MB/s, 25 %, 30 s left\n');
  clock.atMs = 3_600_000;
  progress.finish();
  expect(String(err.read())).toContain(', 25 %, 3 h left\n');
  share = 1;
  progress.finish();
  expect(String(err.read())).toBe('20 blocks, 1.0 MB, 0 blocks/s, 0.0 MB/s, 100 %\n');
  // The amount that was read is larger than the finished one.
  progress.stop();
  expect(String(err.read())).toBe('20 blocks, 1.0 MB, 0 blocks/s, 0.0 MB/s\n');
});
