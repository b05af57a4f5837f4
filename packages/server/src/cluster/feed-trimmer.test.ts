import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FeedTrimmer } from './feed-trimmer.ts';
import { MemoryFeed } from './testing/memory-feed.ts';

async function fill(count: number): Promise<MemoryFeed> {
  const feed = new MemoryFeed();
  for (let i = 0; i < count; i++) await feed.publish(new Uint8Array(1), i);
  return feed;
}

const log = pino({ level: 'silent' });
const positionAt = (sequence: number, ...blocks: number[]) => ({
  epoch: 0,
  sequence,
  blocks: blocks.map((one) => [one, 0] as const),
});

test('default: messages are kept for readers that are four manifests behind', async () => {
  const feed = await fill(100);
  const trimmer = new FeedTrimmer(feed, log);
  for (const at of [10, 20, 30, 40]) await trimmer.advance(positionAt(at));
  expect(feed.messages[0]?.sequence).toBe(1);
  await trimmer.advance(positionAt(50, 45, 47));
  expect(feed.messages[0]?.sequence).toBe(10);
  await trimmer.advance(positionAt(60));
  expect(feed.messages[0]?.sequence).toBe(20);
});

test('limit: in a nearly full feed only the messages that the newest manifest needs are kept', async () => {
  const feed = await fill(100);
  const trimmer = new FeedTrimmer(feed, log);
  feed.isNearlyFull = true;
  await trimmer.advance(positionAt(50, 45, 47));
  expect(feed.messages[0]?.sequence).toBe(45);
});

test('behavior: after a failure the next manifest removes the messages', async () => {
  const feed = await fill(100);
  const trimmer = new FeedTrimmer(feed, log);
  feed.isNearlyFull = true;
  feed.isDown = true;
  await trimmer.advance(positionAt(50));
  expect(feed.messages[0]?.sequence).toBe(1);
  feed.isDown = false;
  await trimmer.advance(positionAt(60));
  expect(feed.messages[0]?.sequence).toBe(60);
});
