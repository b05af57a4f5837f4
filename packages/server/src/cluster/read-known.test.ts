import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { readKnown } from './read-known.ts';
import { MemoryFeed } from './testing/memory-feed.ts';

const never = new AbortController().signal;

async function fill(count: number): Promise<MemoryFeed> {
  const feed = new MemoryFeed();
  for (let i = 0; i < count; i++) await feed.publish(new Uint8Array(1), i);
  return feed;
}

async function collect(messages: AsyncIterable<{ sequence: number }>): Promise<number[]> {
  const seen: number[] = [];
  for await (const { sequence } of messages) seen.push(sequence);
  return seen;
}

test('default: the messages of a range are read, and later ones are not waited for', async () => {
  const feed = await fill(5);
  const dependencies = { feed, clock: new ManualClock() };
  expect(await collect(readKnown({ first: 2, last: 4 }, dependencies, never))).toEqual([2, 3, 4]);
  expect(await collect(readKnown({ first: 6, last: 5 }, dependencies, never))).toEqual([]);
});

test('error: feed-unreachable: reading ends when the feed has messages but delivers none', async () => {
  const feed = await fill(2);
  const clock = new ManualClock();
  const reading = collect(readKnown({ first: 1, last: 3 }, { feed, clock }, never));
  const outcome = reading.catch((error: unknown) => error);
  for (let i = 0; i < 30; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(250);
  }
  expect(await outcome).toMatchObject({ code: 'feed-unreachable' });
});
