/** Where a response ends and how its lines are divided, at the exact limits. */
import { afterEach, expect, test } from 'vitest';
import { batchBytesMax } from './block-collector.ts';
import { makeHash } from './testing/make-block.ts';
import { settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';
import { StreamFixture } from './testing/stream-fixture.ts';

let fixture: StreamFixture;
afterEach(() => fixture.close());

function startAt(head: number, options = {}): MemoryDataset {
  const dataset = new MemoryDataset(options);
  dataset.extend(Array.from({ length: head + 1 }, (_, i) => i));
  return dataset;
}

test('limit: a response in the dialect solana ends after 10 s, the other one is not ended then', async () => {
  fixture = new StreamFixture(startAt(3), { solanaResponseMsMax: 10_000 });
  const solana = await fixture.follow({ fromBlock: 0, type: 'solana', fields: {} });
  const ledger = await fixture.follow({ fromBlock: 0 });
  await fixture.clock.advance(9_900);
  expect([solana.end, ledger.end]).toEqual([undefined, undefined]);
  await fixture.clock.advance(100);
  expect([solana.end, ledger.end]).toEqual(['time', undefined]);
});

test('limit: a response in the dialect solana that catches up ends after 10 s too, with a line', async () => {
  fixture = new StreamFixture(startAt(120), { sharedSlotCountMax: 32 });
  const read = async (type: 'solana' | 'ledger') => {
    const opened = await fixture.open({ fromBlock: 0, type, fields: {}, toBlock: 60 });
    if (opened.kind !== 'lines') throw opened;
    const { lines } = opened;
    await lines.next();
    await fixture.clock.advance(10_000);
    const slots: number[] = [];
    for (;;) {
      const next = await lines.next();
      if (next.done === true) return { end: next.value, last: slots.at(-1) ?? -1 };
      const text = Buffer.concat(next.value.parts).toString();
      expect(text.endsWith('\n')).toBe(true);
      slots.push(...[...text.matchAll(/"number":(\d+)/g)].map(([, slot]) => Number(slot)));
    }
  };
  expect(await read('ledger')).toEqual({ end: 'complete', last: 60 });
  const { end, last } = await read('solana');
  expect(end).toBe('time');
  expect(last).toBeGreaterThan(0);
  expect(last).toBeLessThan(60);
});

test('limit: the shorter of the two times applies to the dialect solana', async () => {
  fixture = new StreamFixture(startAt(3), { solanaResponseMsMax: 10_000, followMsMax: 2_000 });
  const solana = await fixture.follow({ fromBlock: 0, type: 'solana', fields: {} });
  await fixture.clock.advance(2_000);
  expect(solana.end).toBe('time');
});

test('limit: the time of following is counted from the first wait, not from the first line', async () => {
  fixture = new StreamFixture(startAt(3), { followMsMax: 20_000 });
  await fixture.clock.advance(50_000);
  const reading = await fixture.follow({ fromBlock: 0 });
  await fixture.clock.advance(19_900);
  expect(reading.end).toBeUndefined();
  await fixture.clock.advance(100);
  expect(reading.end).toBe('time');
});

test('limit: progress is marked exactly five seconds after the last line, late in the life of the process', async () => {
  fixture = new StreamFixture(startAt(3));
  await fixture.clock.advance(100_000);
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.extend([4]);
  await fixture.clock.advance(4_900);
  expect(reading.slots).toEqual([0, 3]);
  await fixture.clock.advance(100);
  expect(reading.slots).toEqual([0, 3, -4]);
  fixture.dataset.extend([5]);
  await fixture.clock.advance(4_900);
  expect(reading.slots).toEqual([0, 3, -4]);
  await fixture.clock.advance(100);
  expect(reading.slots).toEqual([0, 3, -4, -5]);
});

test('behavior: a line resets the time until progress is marked', async () => {
  fixture = new StreamFixture(startAt(3));
  const reading = await fixture.follow({ fromBlock: 0 });
  fixture.dataset.extend([4]);
  await fixture.clock.advance(4_000);
  fixture.dataset.extend([6, 7]);
  await fixture.clock.advance(4_800);
  expect(reading.slots).toEqual([0, 3, 6]);
  await fixture.clock.advance(300);
  expect(reading.slots).toEqual([0, 3, 6, -7]);
});

test('behavior: blocks that arrive together with the deadline are still sent', async () => {
  fixture = new StreamFixture(startAt(3), { quietMsMax: 1_000 });
  const reading = await fixture.follow({ fromBlock: 0, toBlock: 6 });
  await fixture.clock.advance(900);
  fixture.dataset.extend([4, 5, 6]);
  await fixture.clock.advance(100);
  expect([reading.slots, reading.end]).toEqual([[0, 3, 6], 'complete']);
});

test('behavior: a response of a dataset without a source is complete at the last block', async () => {
  fixture = new StreamFixture(startAt(4, { realTime: false }));
  const reading = await fixture.follow({ fromBlock: 0 });
  expect([reading.slots, reading.end]).toEqual([[0, 3, -4], 'complete']);
});

test('limit: a range of as many slots as are shared is evaluated for one stream alone', async () => {
  fixture = new StreamFixture(startAt(40), { sharedSlotCountMax: 16 });
  const decodedBy = async (fromBlock: number) => {
    const before = fixture.dataset.decodeCount;
    const body = { fromBlock, toBlock: fromBlock, includeAllBlocks: true };
    await Promise.all([fixture.follow(body), fixture.follow(body)]);
    await settle();
    return fixture.dataset.decodeCount - before;
  };
  expect(await decodedBy(24)).toBe(2);
  expect(await decodedBy(25)).toBe(1);
});

test('behavior: a trim up to the next slot does not end a response, one beyond it does', async () => {
  for (const [keepFrom, end] of [
    [16, undefined],
    [17, 'trimmed'],
  ] as const) {
    fixture = new StreamFixture(startAt(60), { snapshotMsMax: 1_000, sharedSlotCountMax: 32 });
    fixture.dataset.finalize(60);
    // The first piece ends with block 15.
    const opened = await fixture.open({ fromBlock: 0 });
    if (opened.kind !== 'lines') throw opened;
    const first = await opened.lines.next();
    if (first.done === true) throw first.value;
    expect(Buffer.concat(first.value.parts).toString()).toContain(makeHash('a', 15));
    await fixture.clock.advance(1_000);
    fixture.dataset.seal(keepFrom - 1);
    fixture.dataset.trim(keepFrom);
    const next = await opened.lines.next();
    expect(next.done === true ? next.value : undefined).toBe(end);
    await opened.lines.close();
    await fixture.close();
  }
});

test('behavior: a scan takes a newer snapshot only after its time, and gives its lease back', async () => {
  fixture = new StreamFixture(startAt(120), { snapshotMsMax: 1_000, sharedSlotCountMax: 32 });
  const opened = await fixture.open({ fromBlock: 0, includeAllBlocks: true });
  if (opened.kind !== 'lines') throw opened;
  const { lines } = opened;
  await lines.next();
  expect(fixture.dataset.leaseCount).toBe(1);
  fixture.dataset.fork(110, [111], 'b');
  // Within its time the scan still reads the snapshot in which slot 120 exists.
  let text = '';
  for (let i = 0; i < 20; i++) {
    const next = await lines.next();
    if (next.done === true) break;
    text += Buffer.concat(next.value.parts).toString();
  }
  expect(text).toContain(makeHash('a', 120));
  expect(fixture.dataset.leaseCount).toBe(0);
  await lines.close();
});

test('behavior: closing a stream releases its pieces and its snapshot, and ends it', async () => {
  fixture = new StreamFixture(startAt(120), { sharedSlotCountMax: 32 });
  const opened = await fixture.open({ fromBlock: 0, includeAllBlocks: true });
  if (opened.kind !== 'lines') throw opened;
  expect(fixture.dataset.leaseCount).toBe(1);
  await opened.lines.close();
  expect(fixture.dataset.leaseCount).toBe(0);
  expect(await opened.lines.next()).toEqual({ done: true, value: 'closing' });
});

test('limit: pieces of one write are joined up to the size of a batch', async () => {
  const rewardCount = 40;
  fixture = new StreamFixture(startAt(3, { rewardCount }));
  const opened = await fixture.open({ fromBlock: 3, includeAllBlocks: true });
  if (opened.kind !== 'lines') throw opened;
  const { lines } = opened;
  const sizes: number[] = [];
  const slots: number[] = [];
  const read = async () => {
    const next = await lines.next();
    if (next.done === true) throw next.value;
    sizes.push(next.value.byteLength);
    const text = Buffer.concat(next.value.parts).toString();
    slots.push(...[...text.matchAll(/"number":(\d+)/g)].map(([, slot]) => Number(slot)));
  };
  await read();
  fixture.dataset.extend(Array.from({ length: 60 }, (_, i) => 4 + i));
  while (slots.at(-1) !== 63) await read();
  expect(slots).toEqual(Array.from({ length: 61 }, (_, i) => 3 + i));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(batchBytesMax);
  await lines.close();
});
