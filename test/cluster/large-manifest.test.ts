/** A new reader with a manifest of a year: 20,000 segments. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBase58 } from '@sluice/base/base58';
import { systemClock } from '@sluice/base/clock';
import { afterAll, expect, test } from 'vitest';
import { toBlockHash, toSlot } from '../../packages/ledger/src/primitives.ts';
import { applyChanges } from '../../packages/server/src/chain/apply-changes.ts';
import {
  emptySnapshot,
  type SealedSegment,
} from '../../packages/server/src/chain/chain-snapshot.ts';
import { chooseList, listFile } from '../../packages/server/src/chain/segment-lists.ts';
import { ManifestLog } from '../../packages/server/src/cluster/bucket-manifest.ts';
import { buildList } from '../../packages/server/src/dataset/list-files.ts';
import { S3Client } from '../../packages/server/src/object-store/s3-client.ts';
import { ClusterMember } from './services/member.ts';
import { type NatsCluster, startNats } from './services/start-nats.ts';
import { type S3Server, useS3 } from './services/start-s3.ts';

const segmentCount = 20_000;
const blockCount = 1_000;
const chunkLength = 100;
const folder = mkdtempSync(join(tmpdir(), 'sluice-large-'));
interface Servers {
  readonly s3: S3Server;
  readonly nats: NatsCluster;
}
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

/** Starts a reader of a dataset. Returns how long it took until the head was served. */
async function measureStart(name: string, last: number, servers: Servers): Promise<number> {
  const startMs = performance.now();
  const rpcUrl = 'http://127.0.0.1:1';
  const options = { name, role: 'read', folder, rpcUrl, dataset: { name } } as const;
  const feed = { bytesMax: 1 << 30 };
  const member = await ClusterMember.start({ ...options, ...servers, feed });
  await member.untilHead(last);
  const elapsedMs = Math.round(performance.now() - startMs);
  await member.close();
  return elapsedMs;
}

/** Writes a manifest of a dataset with this many segments, and one with one more. Returns the slot of its head. */
async function writeManifests(name: string, count: number, client: S3Client): Promise<number> {
  const dataset = {
    name,
    aliases: [],
    genesisHash: null,
    votes: 'drop',
    metaOptional: false,
    allowMissing: [],
  } as const;
  const anchor = { number: toSlot(0), hash: hashAt(0) };
  const feed = { epoch: 0, sequence: 0, blocks: [] };
  const log = new ManifestLog(client, name);
  let chain = applyChanges(emptySnapshot, [{ kind: 'create', anchor }]);
  const append = async (first: number, length: number) => {
    const segments = Array.from({ length }, (_, i) => segmentAt(first + i));
    chain = applyChanges(chain, [{ kind: 'append-sealed', segments }]);
    for (let next = chooseList(chain); next !== undefined; next = chooseList(chain)) {
      const { list, bytes } = buildList(next);
      await client.put(`${name}/${listFile(list)}`, bytes);
      chain = applyChanges(chain, [{ kind: 'list', list }]);
    }
  };
  for (let first = 0; first < count; first += chunkLength)
    await append(first, Math.min(chunkLength, count - first));
  await log.create({ number: 1, writer: 'test', dataset, chain, feed });
  await append(count, 1);
  await log.create({ number: 2, writer: 'test', dataset, chain, feed });
  return (count + 1) * blockCount;
}

test(`limit: a new reader serves the head within 10 s over ${segmentCount} segments`, async () => {
  const [s3, nats] = await Promise.all([useS3(), startNats(folder, 1)]);
  closers.push(() => nats.stop());
  const options = { ...s3, prefix: '', region: 'us-east-1', pathStyle: true };
  const client = new S3Client(
    { ...options, requestMsMax: 10_000, connectionCountMax: 4 },
    { credentials: async () => s3, clock: systemClock, random: () => 0 },
  );
  closers.push(() => client.close());
  const last = await writeManifests('large', segmentCount, client);
  const smallLast = await writeManifests('small', 1, client);
  // A commit with an additional segment only writes a manifest, which refers to the lists of the other segments.
  const [, { byteLength } = { byteLength: 0 }] = await client.list('large/manifests/');
  const lists = await client.list('large/lists/');
  const listBytes = lists.reduce((sum, one) => sum + one.byteLength, 0);
  const smallMs = await measureStart('small', smallLast, { s3, nats });
  const largeMs = await measureStart('large', last, { s3, nats });
  process.stdout.write(
    `${lists.length} lists with ${listBytes} bytes, ${byteLength} bytes for a commit, head served after ${largeMs} ms, with 2 segments after ${smallMs} ms\n`,
  );
  expect(byteLength).toBeLessThan(100_000);
  // On a slow machine a reader without history takes long too.
  expect(largeMs).toBeLessThan(Math.max(10_000, smallMs * 3));
});
