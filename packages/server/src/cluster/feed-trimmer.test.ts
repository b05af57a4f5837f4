import { systemClock } from '@sluice/base/clock';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FeedTrimmer } from './feed-trimmer.ts';
import { MemoryFeed } from './testing/memory-feed.ts';

async function start(count: number): Promise<{ feed: MemoryFeed; trimmer: FeedTrimmer }> {
  const feed = new MemoryFeed();
  for (let i = 0; i < count; i++) await feed.publish(new Uint8Array(1), i);
  const log = pino({ level: 'silent' });
  return { feed, trimmer: new FeedTrimmer({ feed, log, clock: systemClock }) };
}

const positionAt = (sequence: number, ...blocks: number[]) => ({
  epoch: 0,
  sequence,
  blocks: blocks.map((one) => [one, 0] as const),
});

test('default: messages are kept for readers that are four manifests behind', async () => {
  const { feed, trimmer } = await start(100);
  const advance = async (...position: Parameters<typeof positionAt>) => {
    trimmer.advance(positionAt(...position));
    await trimmer.trim();
    return feed.messages[0]?.sequence;
  };
  for (const at of [10, 20, 30, 40]) expect(await advance(at)).toBe(1);
  expect(await advance(50, 45, 47)).toBe(10);
  expect(await advance(60)).toBe(20);
});

test('limit: in a nearly full feed only the messages that the newest manifest needs are kept', async () => {
  const { feed, trimmer } = await start(100);
  trimmer.advance(positionAt(50, 45, 47));
  await trimmer.trim();
  expect(feed.messages[0]?.sequence).toBe(1);
  // The feed fills after the manifest was created, and there is no newer one.
  feed.isNearlyFull = true;
  await trimmer.trim();
  expect(feed.messages[0]?.sequence).toBe(45);
});

test('behavior: messages that could not be removed are removed later, without a new manifest', async () => {
  const { feed, trimmer } = await start(100);
  feed.isNearlyFull = true;
  feed.isDown = true;
  trimmer.advance(positionAt(50));
  const stop = new AbortController();
  const running = trimmer.run(stop.signal);
  feed.isDown = false;
  expect(feed.messages[0]?.sequence).toBe(1);
  await expect.poll(() => feed.messages[0]?.sequence, { timeout: 10_000 }).toBe(50);
  stop.abort();
  await running;
});
