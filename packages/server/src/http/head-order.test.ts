/** New blocks reach a client in order, even if earlier ones take longer to compress. */
import { request } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { HttpFixture, matchBody } from './testing/http-fixture.ts';

let fixture: HttpFixture;
afterEach(() => fixture.close());

interface Followed {
  /** The slots of the lines received so far, in order. */
  slots(): number[];
  leave(): void;
}

/** Follows from a slot. Resolves when the headers of the response have arrived. */
function follow(fromBlock: number, encoding: 'gzip' | 'identity'): Promise<Followed> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'accept-encoding': encoding };
    const path = '/datasets/ledger-test/stream';
    const target = { host: '127.0.0.1', port: fixture.port, path, agent: false };
    const outgoing = request({ ...target, method: 'POST', headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', () => undefined);
      const slots = () => slotsOf(decode(Buffer.concat(chunks), encoding));
      resolve({ slots, leave: () => outgoing.destroy() });
    });
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(matchBody({ fromBlock, includeAllBlocks: true })));
  });
}

function decode(bytes: Buffer, encoding: string): string {
  if (encoding === 'identity' || bytes.length === 0) return bytes.toString();
  return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
}

/** Returns the slots of the whole lines in a text. */
function slotsOf(text: string): number[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { header: { number: number } }).header.number);
}

const inOrder = { timeout: 20_000, interval: 100 };

test('behavior: a short block waits until the long one before it is compressed', async () => {
  // The line of this block takes long to compress, the next one does not.
  const dataset = new MemoryDataset({ anchor: 98, rewardCount: 150_000 });
  dataset.extend([99]);
  fixture = await HttpFixture.start({ dataset });
  const followed = await follow(99, 'gzip');
  dataset.extend([100], 'a', () => false);
  await expect.poll(() => followed.slots(), inOrder).toHaveLength(2);
  expect(followed.slots()).toEqual([99, 100]);
  followed.leave();
});

test('behavior: short blocks wait behind a long one that arrived with them', async () => {
  const dataset = new MemoryDataset({ anchor: 110, rewardCount: 10_000 });
  dataset.extend([111], 'a', () => false);
  fixture = await HttpFixture.start({ dataset });
  const followed = await follow(111, 'identity');
  await expect.poll(() => fixture.streams.waiterCount, inOrder).toBe(1);
  // This many blocks at once, from this slot on, are evaluated together. Every third is a long one.
  const slots = Array.from({ length: 16 }, (_, i) => 112 + i);
  dataset.extend(slots);
  await expect.poll(() => followed.slots().length, inOrder).toBeGreaterThan(16);
  expect(followed.slots()).toEqual([111, ...slots]);
  followed.leave();
});
