/** Tests how an ingester follows its sources and reports what is wrong, with sources and a dataset in memory. */

import { CodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { PortalSource } from '@sluice/source/portal/portal-source';
import { refusal } from '@sluice/source/refusal';
import { SlotWatcher } from '@sluice/source/rpc/slot-watcher';
import type { BlockStream, SourceIdentity } from '@sluice/source/source';
import { afterEach, expect, test, vi } from 'vitest';
import { makeHeaders, ok } from './testing/fake-source.ts';
import { FakeNode, type StartedIngester, startIngester } from './testing/start-ingester.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const chain = makeHeaders(
  'a',
  Array.from({ length: 40 }, (_, i) => i),
);
const upTo = (slot: number) => chain.slice(0, slot + 1);
const node = (name = 'node') => new FakeNode(name, upTo(12), 8);

/** Starts and waits until the blocks so far are stored. */
async function follow(
  nodes: readonly FakeNode[],
  options: Parameters<typeof startIngester>[1] = {},
): Promise<StartedIngester> {
  const started = startIngester(nodes, options);
  await started.clock.advance(2_000);
  expect(started.head()).toBe(12);
  return started;
}

test('default: a node without notifications is polled every 100 ms', async () => {
  const source = node();
  const { clock, head, end } = await follow([source]);
  const before = source.counts['listSlots'] as number;
  await clock.advance(1_000);
  expect((source.counts['listSlots'] as number) - before).toBe(10);
  source.headers = upTo(13);
  await clock.advance(100);
  expect(head()).toBe(13);
  await end();
});

test('behavior: with notifications a node is asked after the next one, or after 400 ms', async () => {
  const source = node();
  vi.spyOn(SlotWatcher.prototype, 'isLive', 'get').mockReturnValue(true);
  vi.spyOn(SlotWatcher.prototype, 'highest', 'get').mockReturnValue(12);
  const waits: unknown[] = [];
  let notify = () => {};
  const { clock, head, end } = startIngester([source]);
  vi.spyOn(SlotWatcher.prototype, 'above').mockImplementation((slot, ms, signal) => {
    waits.push([slot, ms]);
    const woken = new AbortController();
    notify = () => woken.abort();
    return clock.sleep(ms, AbortSignal.any([signal, woken.signal]));
  });
  await clock.advance(2_000);
  expect([head(), waits.at(-1)]).toEqual([12, [12, 400]]);
  source.headers = upTo(13);
  await clock.advance(10);
  expect(head()).toBe(12);
  notify();
  await clock.advance(0);
  expect(head()).toBe(13);
  await end();
});

test('behavior: an announced block is requested every 50 ms, and every 15 ms when it is expected', async () => {
  const source = node();
  const announced = new Map([[13, 1_000]]);
  const { clock, head, end } = startIngester([source]);
  vi.spyOn(SlotWatcher.prototype, 'isLive', 'get').mockReturnValue(true);
  vi.spyOn(SlotWatcher.prototype, 'highest', 'get').mockImplementation(() =>
    Math.max(...announced.keys()),
  );
  vi.spyOn(SlotWatcher.prototype, 'announcedMs').mockImplementation((slot) => announced.get(slot));
  vi.spyOn(SlotWatcher.prototype, 'announcedAbove').mockImplementation((slot) =>
    [...announced].flatMap(([one, ms]) => (one > slot ? [clock.nowMs() - ms] : [])),
  );
  const { listSlots } = source;
  let times: number[] = [];
  vi.spyOn(source, 'listSlots').mockImplementation((...given) => {
    times.push(clock.nowMs());
    return listSlots.apply(source, given);
  });
  const pauses = () => times.slice(1).map((ms, i) => ms - (times[i] as number));
  await clock.advance(1_000);
  times = [];
  await clock.advance(200);
  expect(pauses()).toEqual([50, 50, 50]);
  // Slot 13 becomes available 250 ms after its announcement, so slot 14 is expected after that time.
  announced.set(14, clock.nowMs());
  source.headers = upTo(13);
  await clock.advance(50);
  expect(head()).toBe(13);
  times = [];
  await clock.advance(400);
  const frequent = times.filter((_, i) => pauses()[i] === 15).map((ms) => ms - 1_200);
  expect([pauses()[0], pauses().at(-1), frequent.length]).toEqual([50, 50, 3]);
  expect(frequent[0]).toBeGreaterThanOrEqual(230);
  expect(frequent.at(-1)).toBeLessThanOrEqual(270);
  await end();
});

test('behavior: after a failure a node with notifications is not asked before its pause is over', async () => {
  const source = node();
  vi.spyOn(SlotWatcher.prototype, 'isLive', 'get').mockReturnValue(true);
  vi.spyOn(SlotWatcher.prototype, 'highest', 'get').mockReturnValue(12);
  const { clock, head, end } = startIngester([source]);
  const waits: number[] = [];
  vi.spyOn(SlotWatcher.prototype, 'above').mockImplementation((_slot, ms, signal) => {
    waits.push(clock.nowMs());
    return clock.sleep(ms, signal);
  });
  await clock.advance(2_000);
  expect(head()).toBe(12);
  source.isDown = true;
  await clock.advance(2_000);
  const count = waits.length;
  await clock.advance(20_000);
  // The pauses of the failing source replace the waits for notifications.
  expect(waits.length).toBe(count);
  await end();
});

test('behavior: one source delivers blocks, and another one only if it fails or is late', async () => {
  const [first, second] = [node('first'), node('second')];
  const { clock, head, end } = await follow([first, second]);
  for (const one of [first, second]) one.headers = upTo(13);
  await clock.advance(1_000);
  expect([head(), second.counts['block']]).toEqual([13, undefined]);
  first.isDown = true;
  second.headers = upTo(15);
  await clock.advance(1_000);
  expect(head()).toBe(15);
  // The new leader stays the leader when the first source is back.
  first.isDown = false;
  const delivered = first.counts['block'];
  await clock.advance(15_000);
  for (const one of [first, second]) one.headers = upTo(17);
  await clock.advance(1_000);
  expect([head(), first.counts['block']]).toEqual([17, delivered]);
  // A leader that answers but withholds a block loses the lead as well.
  first.headers = upTo(19);
  await clock.advance(1_000);
  expect(head()).toBe(19);
  await end();
});

test('behavior: a fork of the only source is followed', async () => {
  const source = node();
  const { clock, dataset, end } = await follow([source]);
  const branch = makeHeaders('b', [11, 12, 13], chain[10]);
  source.headers = [...upTo(10), ...branch];
  await clock.advance(1_000);
  expect(dataset.current.head?.hash).toBe(branch.at(-1)?.hash);
  expect(dataset.current.replaced.size).toBe(2);
  await end();
});

test('behavior: after a stop, a source in a pause is not asked again', async () => {
  const source = node();
  const { clock, end } = await follow([source]);
  source.isDown = true;
  await clock.advance(5_000);
  const before = { ...source.counts };
  await end();
  expect(source.counts).toEqual({ ...before, close: 1 });
});

test('behavior: with an agreement of two, a block is stored when both sources have it', async () => {
  const [first, second] = [node('first'), node('second')];
  const { clock, head, end } = await follow([first, second], { agreement: 2 });
  first.headers = upTo(13);
  await clock.advance(1_000);
  expect(head()).toBe(12);
  second.headers = upTo(13);
  await clock.advance(1_000);
  expect(head()).toBe(13);
  await end();
});

test('behavior: a portal is followed while it stores the same records as the dataset', async () => {
  const portal = node('portal');
  const content = { votes: 'drop', allowMissing: [] as string[] };
  vi.spyOn(portal, 'identity').mockImplementation(async () =>
    ok({ genesisHash: null, content: content as NonNullable<SourceIdentity['content']> }),
  );
  vi.spyOn(PortalSource.prototype, 'follow').mockImplementation(async ({ from }) => {
    const above = portal.headers.filter(({ number }) => number >= from);
    return above.length === 0 ? { kind: 'above' } : { kind: 'blocks', blocks: streamOf(above) };
  });
  const url = 'http://127.0.0.1:9/datasets/x';
  const sources = [{ kind: 'portal' as const, name: 'portal', url }];
  const { clock, ingester, head, raised, end } = await follow([portal], { sources });
  portal.headers = upTo(13);
  await clock.advance(1_000);
  expect([head(), raised()]).toEqual([13, []]);
  content.votes = 'keep';
  portal.headers = upTo(14);
  await clock.advance(1_000);
  expect([head(), ingester.status.sources[0]?.state]).toEqual([13, 'disabled']);
  expect(raised()).toEqual([expect.stringMatching(/^portal-content-differs: /)]);
  await end();
});

function streamOf(headers: readonly BlockHeader[]): BlockStream {
  return {
    finalized: null,
    fault: undefined,
    close: async () => undefined,
    async *[Symbol.asyncIterator]() {
      for (const { number, hash } of headers) yield { slot: number, bytes: Buffer.from(hash) };
    },
  };
}

test('behavior: if a commit fails during a stop, the ingester still waits for the other tasks', async () => {
  const source = node();
  const { clock, dataset, running, stop } = await follow([source]);
  let isEnded = false;
  const ending = running.then(() => {
    isEnded = true;
  });
  let endSeal = () => {};
  vi.spyOn(dataset, 'seal').mockImplementation(
    () =>
      new Promise((resolve) => {
        endSeal = () => resolve(false);
      }),
  );
  source.headers = upTo(13);
  await clock.advance(2_000);
  // Another process of a cluster writes now.
  dataset.commitError = new CodedError('feed-fenced');
  source.headers = upTo(14);
  await clock.advance(200);
  stop.abort();
  await clock.advance(5_000);
  expect(isEnded).toBe(false);
  endSeal();
  await ending;
});

test('behavior: the alarms of ingestion are cleared when it ends, because nothing would clear them later', async () => {
  const source = node();
  const { clock, dataset, raised, end } = await follow([source]);
  dataset.alarms.raise('source-contradicts-finality', 'node: another block');
  dataset.alarms.raise('segment-damaged', 'slots 1 to 2: checksum');
  source.isDown = true;
  await clock.advance(100_000);
  expect(raised()).toContain('sources-down: no source has answered for a minute');
  await end();
  expect(raised()).toEqual(['segment-damaged: slots 1 to 2: checksum']);
});

test('error: sources-down is raised when no source has answered for a minute, and cleared by an answer', async () => {
  const nodes = [node('one'), node('two')];
  const { clock, raised, end } = await follow(nodes);
  const [one, two] = nodes as [FakeNode, FakeNode];
  one.isDown = true;
  await clock.advance(100_000);
  expect(raised()).not.toContain('sources-down: no source has answered for a minute');
  two.isDown = true;
  // An answer counts for ten seconds.
  await clock.advance(68_000);
  expect(raised()).not.toContain('sources-down: no source has answered for a minute');
  await clock.advance(4_000);
  expect(raised()).toContain('sources-down: no source has answered for a minute');
  one.isDown = false;
  await clock.advance(12_000);
  expect(raised().filter((text) => text.startsWith('sources-down'))).toEqual([]);
  await end();
});

test('behavior: sources-down is not raised while the disk fails', async () => {
  const source = node();
  const { clock, dataset, raised, end } = await follow([source]);
  const isDown = () => raised().some((text) => text.startsWith('sources-down'));
  source.isDown = true;
  dataset.storage = 'failed';
  await clock.advance(100_000);
  expect(isDown()).toBe(false);
  // The minute begins when the disk works again.
  dataset.storage = 'open';
  await clock.advance(59_999);
  expect(isDown()).toBe(false);
  await clock.advance(1);
  expect(isDown()).toBe(true);
  await end();
});

test('error: ingest-stalled is raised when reported blocks are not stored for 30 s, and cleared by the next block', async () => {
  const source = node();
  const { clock, ingester, head, raised, end } = await follow([source]);
  const stalled = () => raised().filter((text) => text.startsWith('ingest-stalled'));
  await clock.advance(40_000);
  expect([ingester.status.stallMs, stalled()]).toEqual([0, []]);
  const block = vi.spyOn(source, 'block').mockResolvedValue(refusal('pending', 'null'));
  source.headers = upTo(15);
  await clock.advance(2_000);
  // The stall is counted from the last stored block, which is more than 40 s old.
  expect(ingester.status.behindSlots).toBe(3);
  expect(ingester.status.stallMs).toBeGreaterThan(40_000);
  expect(stalled()).toEqual([
    'ingest-stalled: sources report blocks up to slot 15, but none was stored for 30 s',
  ]);
  block.mockRestore();
  await clock.advance(2_000);
  expect([head(), stalled(), ingester.status.behindSlots]).toEqual([15, [], 0]);
  await end();
});

test('limit: a stall of less than 30 s is no alarm', async () => {
  const source = node();
  const { clock, head, raised, end } = await follow([source]);
  await clock.advance(950);
  source.headers = upTo(13);
  await clock.advance(50);
  expect(head()).toBe(13);
  vi.spyOn(source, 'block').mockResolvedValue(refusal('pending', 'null'));
  source.headers = upTo(14);
  await clock.advance(29_999);
  expect(raised()).toEqual([]);
  await clock.advance(1);
  expect(raised()).toHaveLength(1);
  await end();
});
