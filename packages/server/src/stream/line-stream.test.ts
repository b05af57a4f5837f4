import { afterEach, expect, test } from 'vitest';
import { makeHash } from './testing/make-block.ts';
import { settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';
import { StreamFixture } from './testing/stream-fixture.ts';

let fixture: StreamFixture;
afterEach(() => fixture.close());

function startAt(head: number): MemoryDataset {
  const dataset = new MemoryDataset();
  dataset.extend(Array.from({ length: head + 1 }, (_, i) => i));
  return dataset;
}

test('default: new blocks are sent as they arrive', async () => {
  fixture = new StreamFixture(startAt(3));
  const reading = await fixture.follow({ fromBlock: 0 });
  expect(reading.slots).toEqual([0, 3]);
  fixture.dataset.extend([4, 5, 6]);
  await settle();
  expect(reading.slots).toEqual([0, 3, 6]);
});

test('behavior: after five seconds without a match a line reports the progress, and only once for the same blocks (I-52)', async () => {
  fixture = new StreamFixture(startAt(3));
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.extend([4, 5]);
  await fixture.clock.advance(4_800);
  expect(reading.slots).toEqual([0, 3]);
  await fixture.clock.advance(1_200);
  expect(reading.slots).toEqual([0, 3, -5]);
  await fixture.clock.advance(10_000);
  expect(reading.slots).toEqual([0, 3, -5]);
});

test('behavior: a response without a new block for 30 s ends with the line of the last block (L-05)', async () => {
  fixture = new StreamFixture(startAt(4), { markMs: 60_000 });
  const reading = await fixture.follow({ fromBlock: 0 });
  await fixture.clock.advance(29_500);
  expect([reading.slots, reading.end]).toEqual([[0, 3], undefined]);
  await fixture.clock.advance(1_000);
  expect([reading.slots, reading.end]).toEqual([[0, 3, -4], 'quiet']);
});

test('behavior: a response that follows the head ends after 300 s (L-05)', async () => {
  fixture = new StreamFixture(startAt(3));
  const reading = await fixture.follow({ fromBlock: 0 });
  let slot = 4;
  for (let second = 0; second < 299; second += 13) {
    await fixture.clock.advance(13_000);
    if (reading.end === undefined) fixture.dataset.extend([slot++]);
  }
  await fixture.clock.advance(2_000);
  expect(reading.end).toBe('time');
  expect(Math.abs(reading.slots.at(-1) as number)).toBe(slot - 1);
});

test('behavior: a fork that replaces the last covered block ends the response at the common ancestor (I-34)', async () => {
  fixture = new StreamFixture(startAt(5));
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.fork(4, [5, 6], 'b');
  await settle();
  expect([reading.slots, reading.end]).toEqual([[0, 3, -5], 'fork']);
  expect(reading.text).toContain(makeHash('a', 5));
  expect(reading.text).not.toContain(makeHash('b', 6));
});

test('behavior: a fork that lowers the head ends the response', async () => {
  fixture = new StreamFixture(startAt(5));
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.fork(2, [3], 'b');
  await settle();
  expect(reading.end).toBe('fork');
});

test('behavior: a fork that skips the slot of the last covered block ends the response, also if all blocks below are sealed (I-34)', async () => {
  fixture = new StreamFixture(startAt(5));
  fixture.dataset.finalize(4);
  fixture.dataset.seal(4);
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.fork(4, [6], 'b');
  await settle();
  expect([reading.slots, reading.end]).toEqual([[0, 3, -5], 'fork']);
  expect(reading.text).not.toContain(makeHash('b', 6));
});

test('behavior: a change without a new block sends nothing (I-52)', async () => {
  fixture = new StreamFixture(startAt(3));
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.finalize(2);
  await settle();
  expect([reading.slots, reading.end]).toEqual([[0, 3], undefined]);
});

test('behavior: a bounded range ends at its last block, or when a later block arrives (I-47)', async () => {
  fixture = new StreamFixture(startAt(3));
  const reading = await fixture.follow({ fromBlock: 2, toBlock: 5 });
  fixture.dataset.extend([4]);
  await settle();
  expect(reading.end).toBeUndefined();
  fixture.dataset.extend([7]);
  await settle();
  expect([reading.slots, reading.end]).toEqual([[3, -4], 'complete']);
});

test('behavior: the abort signal ends a response after a whole line (I-30)', async () => {
  fixture = new StreamFixture(startAt(4));
  const controller = new AbortController();
  const reading = await fixture.follow({ fromBlock: 0 }, { signal: controller.signal });
  controller.abort();
  await settle();
  expect([reading.slots, reading.end]).toEqual([[0, 3, -4], 'closing']);
});

test('behavior: trimmed history ends a response instead of leaving a gap', async () => {
  fixture = new StreamFixture(startAt(60), { snapshotMsMax: 0, sharedSlotCountMax: 32 });
  fixture.dataset.finalize(60);
  fixture.dataset.seal(40);
  const opened = await fixture.open({ fromBlock: 0 });
  if (opened.kind !== 'lines') throw opened;
  const first = await opened.lines.next();
  if (first.done === true) throw first.value;
  expect(Buffer.concat(first.value.parts).toString()).toContain(makeHash('a', 15));
  fixture.dataset.trim(41);
  expect(await opened.lines.next()).toEqual({ done: true, value: 'trimmed' });
});

test('error: a failure before the first line is thrown; after it, the response ends with a whole line (I-46)', async () => {
  fixture = new StreamFixture(startAt(4));
  const fault = new TypeError('unreadable');
  fixture.dataset.fault = fault;
  await expect(fixture.open({ fromBlock: 0 })).rejects.toBe(fault);
  fixture.dataset.fault = undefined;
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.fault = fault;
  fixture.dataset.extend([5]);
  await settle();
  expect([reading.slots, reading.end, fixture.faults]).toEqual([[0, 3, -4], 'fault', [fault]]);
  expect(fixture.dataset.leaseCount).toBe(0);
});

test('behavior: an evaluation that fails because it was aborted is not reported as a failure', async () => {
  fixture = new StreamFixture(startAt(40), { sharedSlotCountMax: 32 });
  const fault = new TypeError('cancelled');
  const first = new AbortController();
  fixture.dataset.onDecode = () => {
    first.abort();
    fixture.dataset.fault = fault;
  };
  expect((await fixture.open({ fromBlock: 0 }, { signal: first.signal })).kind).toBe('closing');
  const second = new AbortController();
  fixture.dataset.fault = undefined;
  fixture.dataset.onDecode = () => {
    if (fixture.dataset.decodeCount < 30) return;
    second.abort();
    fixture.dataset.fault = fault;
  };
  const reading = await fixture.follow({ fromBlock: 0 }, { signal: second.signal });
  expect([reading.end, fixture.faults, fixture.dataset.leaseCount]).toEqual(['closing', [], 0]);
});

test('behavior: a new block is evaluated once for all streams with the same query', async () => {
  fixture = new StreamFixture(startAt(3));
  const readings = await Promise.all(
    Array.from({ length: 200 }, () => fixture.follow({ fromBlock: 3 })),
  );
  await fixture.follow({ fromBlock: 3, includeAllBlocks: true });
  const before = fixture.dataset.decodeCount;
  fixture.dataset.extend([4, 5, 6]);
  await settle();
  expect(readings.every(({ slots }) => slots.at(-1) === 6)).toBe(true);
  expect(fixture.dataset.decodeCount - before).toBe(2 * 3);
});

test('behavior: the first blocks are evaluated once for all clients that reconnect at the head', async () => {
  fixture = new StreamFixture(startAt(40));
  const before = fixture.dataset.decodeCount;
  const readings = await Promise.all(
    Array.from({ length: 50 }, () => fixture.follow({ fromBlock: 38, includeAllBlocks: true })),
  );
  await settle();
  expect(new Set(readings.map(({ slots }) => slots.map(Math.abs).join()))).toEqual(
    new Set(['38,39,40']),
  );
  expect(fixture.dataset.decodeCount - before).toBe(3);
});

test('behavior: a short range far below the head is evaluated separately, one near the head is shared', async () => {
  fixture = new StreamFixture(startAt(40), { sharedSlotCountMax: 16 });
  const decodedBy = async (fromBlock: number, toBlock: number) => {
    const before = fixture.dataset.decodeCount;
    const body = { fromBlock, toBlock, includeAllBlocks: true };
    await Promise.all([fixture.follow(body), fixture.follow(body)]);
    await settle();
    return fixture.dataset.decodeCount - before;
  };
  expect(await decodedBy(10, 13)).toBe(2 * 4);
  expect(await decodedBy(30, 33)).toBe(4);
});

test('property: dividing a range into resumed requests gives the same lines as one request (I-48)', async () => {
  fixture = new StreamFixture(startAt(40));
  const whole = await fixture.follow({ fromBlock: 0, toBlock: 40, includeAllBlocks: true });
  for (const step of [1, 2, 3, 7, 13, 40]) {
    let text = '';
    for (let fromBlock = 0; fromBlock <= 40; fromBlock += step) {
      const toBlock = Math.min(40, fromBlock + step - 1);
      const part = await fixture.follow({ fromBlock, toBlock, includeAllBlocks: true });
      text += part.text;
    }
    expect(text).toBe(whole.text);
  }
});
