/** Large responses are sent from reused memory of the engine's threads, which must not be reused before it was sent. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '@sluice/base/clock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import { EnginePool } from '../engine/threads/engine-pool.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { DatasetSegments } from '../stream/dataset-segments.ts';
import { EngineEvaluator } from '../stream/engine-evaluator.ts';
import { MATCH } from '../stream/testing/make-block.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { HttpFixture } from './testing/http-fixture.ts';

// More slots than the shared evaluation at the head covers, and more bytes than sockets buffer.
const slots = Array.from({ length: 300 }, (_, i) => i + 1);
const rewardCount = 500;

const folder = mkdtempSync(join(tmpdir(), 'sluice-reused-'));
const pool = new EnginePool({ threadCount: 2, cacheBytesMax: 1 << 26 });
let fixture: HttpFixture;
let expected: string;

beforeAll(async () => {
  const dataset = new MemoryDataset({ anchor: 0, rewardCount });
  dataset.extend(slots, 'a', () => true);
  dataset.finalize(300);
  dataset.seal(300);
  const [segment] = dataset.snapshot().segments as [SealedSegment];
  const blocks = dataset.decodeSegment(await dataset.readSegment(segment));
  writeFileSync(join(folder, segment.id), buildSegment(blocks));
  dataset.segmentPath = ({ id }) => join(folder, id);
  const evaluator = new EngineEvaluator({
    pool,
    segments: new DatasetSegments({ dataset, pool }),
  });
  fixture = await HttpFixture.start({ dataset, evaluator, clock: systemClock });
  const lines = blocks.map(({ header, rewards }) => {
    const texts = rewards.map(
      ({ lamports, postBalance }) =>
        `{"pubKey":"${MATCH}","lamports":${lamports},"postBalance":${postBalance}}`,
    );
    return `{"header":{"number":${header.number}},"rewards":[${texts.join()}]}\n`;
  });
  expected = lines.join('');
  expect(expected.length).toBeGreaterThan(15_000_000);
});
afterAll(async () => {
  await fixture.close();
  await pool.stop();
  rmSync(folder, { recursive: true });
});

const body = JSON.stringify({
  fromBlock: 1,
  toBlock: 300,
  rewards: [{}],
  fields: { reward: { pubKey: true, lamports: true, postBalance: true } },
});

/** Reads nothing until the service cannot send more to some reader, then reads slowly. */
function readSlowly(encoding: 'gzip' | 'identity', blocked: Promise<void>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'accept-encoding': encoding };
    const path = '/datasets/ledger-test/stream';
    const target = { host: '127.0.0.1', port: fixture.port, path, agent: false };
    const outgoing = request({ ...target, method: 'POST', headers }, async (incoming) => {
      const chunks: Buffer[] = [];
      await blocked;
      for await (const chunk of incoming) {
        chunks.push(chunk as Buffer);
        if (chunks.length % 16 === 0) await nextTurn();
      }
      resolve(Buffer.concat(chunks));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Resolves when bytes wait for a reader, because its socket takes no more. */
async function untilBlocked(): Promise<void> {
  while (/^sluice_http_unsent_bytes 0$/m.test(await fixture.metrics.text())) await nextTurn();
}

/** Reports the first difference instead of megabytes. */
function expectSame(text: string): void {
  let at = 0;
  while (at < text.length && text[at] === expected[at]) at++;
  const near = (whole: string) => whole.slice(Math.max(at - 40, 0), at + 40);
  expect({ length: text.length, at, near: near(text) }).toEqual({
    length: expected.length,
    at: expected.length,
    near: near(expected),
  });
}

test('behavior: F-52 slow clients get the same bytes as a fast one, while other clients use the threads', async () => {
  const blocked = untilBlocked();
  const slow = [readSlowly('identity', blocked), readSlowly('identity', blocked)];
  const fast = await fixture.query(JSON.parse(body) as Record<string, unknown>);
  expectSame(fast.body.toString());
  for (const bytes of await Promise.all(slow)) expectSame(bytes.toString());
});

test('behavior: F-52 slow clients of compressed responses get the same bytes', async () => {
  const blocked = untilBlocked();
  const encodings = ['gzip', 'gzip', 'identity'] as const;
  const slow = encodings.map((encoding) => readSlowly(encoding, blocked));
  const [first, second, plain] = (await Promise.all(slow)) as [Buffer, Buffer, Buffer];
  for (const bytes of [first, second]) expectSame(gunzipSync(bytes).toString());
  expectSame(plain.toString());
});
