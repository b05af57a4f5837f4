/** A new reader with a manifest of a year: 20,000 segments. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { encodeBase58 } from '../../packages/server/src/base/base58.ts';
import { systemClock } from '../../packages/server/src/base/clock.ts';
import {
  emptySnapshot,
  type SealedSegment,
} from '../../packages/server/src/chain/chain-snapshot.ts';
import { ManifestLog } from '../../packages/server/src/cluster/bucket-manifest.ts';
import { toBlockHash, toSlot } from '../../packages/server/src/ledger/primitives.ts';
import { S3Client } from '../../packages/server/src/object-store/s3-client.ts';
import { ClusterMember } from './services/member.ts';
import { startNats } from './services/start-nats.ts';
import { startS3 } from './services/start-s3.ts';

const segmentCount = 20_000;
const blockCount = 1_000;
const folder = mkdtempSync(join(tmpdir(), 'sluice-large-'));
const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

const hashAt = (slot: number) =>
  toBlockHash(encodeBase58(createHash('sha256').update(String(slot)).digest()));

function segmentAt(i: number): SealedSegment {
  const [first, last] = [i * blockCount + 1, (i + 1) * blockCount];
  const digits = (slot: number) => String(slot).padStart(12, '0');
  return {
    id: `${digits(first)}-${digits(last)}-0123abcd.segment`,
    first: { number: toSlot(first), hash: hashAt(first) },
    last: { number: toSlot(last), hash: hashAt(last) },
    parentSlot: toSlot(first - 1),
    parentHash: hashAt(first - 1),
    lastHeight: last,
    blockCount,
    byteLength: 32 << 20,
    timestampMax: 1_700_000_000n + BigInt(last),
  };
}

test(`limit: a new reader serves the head within 10 s over ${segmentCount} segments`, async () => {
  const [s3, nats] = await Promise.all([startS3(join(folder, 's3')), startNats(folder, 1)]);
  if (s3 === undefined || nats === undefined) throw new Error('docs/scale.md says what to install');
  closers.push(
    () => s3.stop(),
    () => nats.stop(),
  );
  const client = new S3Client(
    {
      ...s3,
      prefix: '',
      region: 'us-east-1',
      pathStyle: true,
      requestMsMax: 10_000,
      connectionCountMax: 4,
    },
    { credentials: async () => s3, clock: systemClock, random: () => 0 },
  );
  closers.push(() => client.close());
  const segments = Array.from({ length: segmentCount }, (_, i) => segmentAt(i));
  const head = segments.at(-1)?.last ?? null;
  const anchor = { number: toSlot(0), hash: hashAt(0) };
  const chain = { ...emptySnapshot, start: toSlot(1), anchor, segments, head, finalized: head };
  const dataset = {
    name: 'ledger',
    aliases: [],
    genesisHash: null,
    votes: 'drop',
    metaOptional: false,
    allowMissing: [],
  } as const;
  const feed = { epoch: 0, sequence: 0, blocks: [] };
  const log = new ManifestLog(client, 'ledger');
  await log.create({
    number: 1,
    writer: 'test',
    dataset,
    chain,
    feed,
  });
  // A commit with an additional segment only writes a manifest, which refers to the lists of the others.
  const added = segmentAt(segmentCount);
  const next = {
    ...chain,
    segments: [...segments, added],
    head: added.last,
    finalized: added.last,
  };
  await log.create({ number: 2, writer: 'test', dataset, chain: next, feed });
  const [, { byteLength } = { byteLength: 0 }] = await client.list('ledger/manifests/');
  const lists = await client.list('ledger/lists/');
  const listBytes = lists.reduce((sum, one) => sum + one.byteLength, 0);
  const startMs = performance.now();
  const member = await ClusterMember.start({
    name: 'reader',
    role: 'read',
    folder,
    rpcUrl: 'http://127.0.0.1:1',
    s3,
    nats,
  });
  closers.push(() => member.close());
  await member.untilHead((segmentCount + 1) * blockCount);
  const elapsedMs = Math.round(performance.now() - startMs);
  process.stdout.write(
    `${lists.length} lists with ${listBytes} bytes, ${byteLength} bytes for a commit, head served after ${elapsedMs} ms\n`,
  );
  expect(byteLength).toBeLessThan(100_000);
  expect(elapsedMs).toBeLessThan(10_000);
});
