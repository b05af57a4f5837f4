import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@sluice/base/clock';
import { afterEach, expect, test, vi } from 'vitest';
import { ManualClock } from '../../../../base/src/testing/manual-clock.ts';
import type { BuiltSegment } from './built-segment.ts';
import { MergeThread } from './merge-thread.ts';
import { SegmentMerger } from './segment-merger.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Replaces the threads by a list of the calls, with a number for each thread. */
function noteCalls() {
  const calls: string[] = [];
  const threads: SegmentMerger[] = [];
  const note = (thread: SegmentMerger, call: string) => {
    if (!threads.includes(thread)) threads.push(thread);
    calls.push(`${threads.indexOf(thread)} ${call}`);
  };
  vi.spyOn(SegmentMerger.prototype, 'append').mockImplementation(async function (
    this: SegmentMerger,
    bytes,
  ) {
    note(this, `append ${bytes[0]}`);
    expect(bytes.buffer.byteLength).toBe(bytes.byteLength);
    if (bytes[0] === 99) throw new TypeError('damaged');
    return { byteLength: 1, isFull: false };
  });
  vi.spyOn(SegmentMerger.prototype, 'finish').mockImplementation(async function (
    this: SegmentMerger,
  ) {
    note(this, 'finish');
    return { byteLength: calls.length } as BuiltSegment;
  });
  vi.spyOn(SegmentMerger.prototype, 'close').mockImplementation(async function (
    this: SegmentMerger,
  ) {
    note(this, 'close');
  });
  return calls;
}

const parts = (...values: number[]) => values.map((value) => Uint8Array.of(value));

test('default: merges run one after another in one thread', async () => {
  const calls = noteCalls();
  const thread = new MergeThread(new ManualClock());
  const merged = await Promise.all([thread.merge(parts(1, 2)), thread.merge(parts(3))]);
  expect(calls).toEqual(['0 append 1', '0 append 2', '0 finish', '0 append 3', '0 finish']);
  expect(merged.map(({ byteLength }) => byteLength)).toEqual([3, 5]);
  await thread.close();
  expect(calls.at(-1)).toBe('0 close');
  await expect(thread.merge(parts(4))).rejects.toMatchObject({ code: 'dataset-closed' });
});

test('behavior: a part of a larger buffer is copied, because the thread takes over the whole buffer', async () => {
  const calls = noteCalls();
  const thread = new MergeThread(new ManualClock());
  const buffer = Uint8Array.of(7, 8, 9);
  await thread.merge([buffer.subarray(1, 2)]);
  expect([calls, buffer.byteLength]).toEqual([['0 append 8', '0 finish'], 3]);
});

test('limit: the thread ends after a minute without a merge, and the next merge starts another one', async () => {
  const calls = noteCalls();
  const clock = new ManualClock();
  const thread = new MergeThread(clock);
  await thread.merge(parts(1));
  clock.advance(59_999);
  await nextTurn();
  await thread.merge(parts(2));
  // The minute begins again with each merge.
  clock.advance(59_999);
  await nextTurn();
  expect(calls).not.toContain('0 close');
  clock.advance(1);
  await nextTurn();
  expect(calls.at(-1)).toBe('0 close');
  await thread.merge(parts(3));
  expect(calls.slice(-2)).toEqual(['1 append 3', '1 finish']);
  await thread.close();
  clock.advance(60_000);
  await nextTurn();
  expect(calls.filter((call) => call === '1 close')).toHaveLength(1);
});

test('behavior: after a failure the thread is ended, and the next merge starts another one', async () => {
  const calls = noteCalls();
  const thread = new MergeThread(new ManualClock());
  const failed = thread.merge(parts(1, 99, 2));
  const next = thread.merge(parts(3));
  await expect(failed).rejects.toThrow('damaged');
  await next;
  expect(calls).toEqual(['0 append 1', '0 append 99', '0 close', '1 append 3', '1 finish']);
});

test('behavior: a close between two segments ends the merge', async () => {
  const calls = noteCalls();
  const thread = new MergeThread(new ManualClock());
  async function* closing(): AsyncGenerator<Uint8Array> {
    yield Uint8Array.of(1);
    await thread.close();
    yield Uint8Array.of(2);
  }
  await expect(thread.merge(closing())).rejects.toMatchObject({ code: 'dataset-closed' });
  expect(calls).toEqual(['0 append 1', '0 close']);
  async function* closingLast(): AsyncGenerator<Uint8Array> {
    yield Uint8Array.of(3);
    await last.close();
  }
  const last = new MergeThread(new ManualClock());
  await expect(last.merge(closingLast())).rejects.toMatchObject({ code: 'dataset-closed' });
  expect(calls.at(-1)).toBe('1 close');
});

test('behavior: a merge that is queued when the thread is closed fails and starts no new thread', async () => {
  const thread = new MergeThread(systemClock);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* heldSequence(): AsyncGenerator<Uint8Array> {
    await held;
    yield new Uint8Array();
  }
  let isRead = false;
  function* laterSequence(): Generator<Uint8Array> {
    isRead = true;
    yield new Uint8Array();
  }
  const first = thread.merge(heldSequence());
  const later = thread.merge(laterSequence());
  first.catch(() => undefined);
  later.catch(() => undefined);
  await thread.close();
  release();
  await expect(first).rejects.toMatchObject({ code: 'dataset-closed' });
  await expect(later).rejects.toMatchObject({ code: 'dataset-closed' });
  expect(isRead).toBe(false);
});
