/** A process of a cluster in a test: a copy of a feed with a bucket in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBase58 } from '@sluice/base/base58';
import { type Clock, systemClock } from '@sluice/base/clock';
import type { Block, BlockHeader } from '@sluice/ledger/block';
import { type BlockHash, toBlockHash } from '@sluice/ledger/primitives';
import { slot } from '../../chain/testing/chain-fixtures.ts';
import type { NewBlock } from '../../dataset/chain-writer.ts';
import { Dataset } from '../../dataset/dataset.ts';
import { createDataset, datasetExists } from '../../dataset/stored/create-dataset.ts';
import { decodeHotBlock } from '../../dataset/testing/decode-hot-block.ts';
import { mergeInProcess } from '../../dataset/testing/merge-in-process.ts';
import type { MemoryStore } from '../../object-store/testing/memory-store.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { decodeBlocks } from '../../segment/testing/decode-blocks.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import { type Bucket, openBucket } from '../bucket.ts';
import { ManifestKeeper } from '../manifest-keeper.ts';
import { prepareReplica } from '../prepare-replica.ts';
import { Replica } from '../replica.ts';
import type { MemoryFeed } from './memory-feed.ts';

export const datasetName = 'ledger';
const folder = `data/${datasetName}`;

export interface Member {
  readonly dataset: Dataset;
  readonly replica: Replica;
  readonly bucket: Bucket;
  readonly keeper: () => Promise<ManifestKeeper>;
  close(): Promise<void>;
}

/** Starts a process in the order of `sluice serve` with a feed: the manifest, the hot blocks, then all messages of the feed. */
export async function startMember(
  { store, feed }: { store: MemoryStore; feed: MemoryFeed },
  fs = new SimFs(),
  mayWrite = true,
  clock: Clock = systemClock,
): Promise<Member> {
  const cacheFolder = mkdtempSync(join(tmpdir(), 'sluice-member-'));
  const bucket = await openBucket(
    { dataset: datasetName, cacheFolder, cacheBytesMax: 1 << 30, requestCountMax: 4 },
    { store, clock: systemClock, fs: nodeFs },
  );
  const manifest = await prepareReplica(
    folder,
    { writer: 'test', mayWrite },
    { fs, bucket, feed },
  ).catch(async (error: unknown) => {
    await bucket.cache.close();
    throw error;
  });
  const replica = new Replica({ dataset: datasetName, feed, store, clock }, manifest);
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  if (!(await datasetExists(folder, fs))) {
    const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
    await createDataset(
      folder,
      { name: datasetName, aliases: [], votes: 'drop', ...rest },
      dependencies,
    );
  }
  const { publish, checkGrowth } = replica;
  const confirm = () => replica.confirm();
  const dataset = await Dataset.open(
    { folder, realTime: true, limits: { sealBlockCount: 4 } },
    { ...dependencies, segments: bucket.segments, publish, checkGrowth, confirm },
  );
  replica.attach(dataset);
  if (manifest !== undefined) await replica.restoreHot(manifest);
  await replica.catchUp(new AbortController().signal);
  const keeper = async () => {
    const latest = await bucket.log.readLatest();
    return new ManifestKeeper(
      { writer: 'test', number: latest?.number ?? 0 },
      { dataset, log: bucket.log, clock: systemClock, position: (one) => replica.position(one) },
    );
  };
  const close = async () => {
    await dataset.close();
    await bucket.cache.close();
    rmSync(cacheFolder, { recursive: true });
  };
  return { dataset, replica, bucket, keeper, close };
}

function hashAt(number: number, branch: number): BlockHash {
  const bytes = new Uint8Array(32).fill(7);
  new DataView(bytes.buffer).setUint32(4, number + 1);
  bytes[0] = branch + 1;
  return toBlockHash(encodeBase58(bytes));
}

/** Returns linked blocks. Below `forkAt` they are those of branch 0. */
export function runOf(first: number, last: number, branch = 0, forkAt = 0): NewBlock[] {
  const branchAt = (number: number) => (number >= forkAt ? branch : 0);
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const number = first + i;
    const header: BlockHeader = {
      number: slot(number),
      hash: hashAt(number, branchAt(number)),
      parentSlot: slot(number - 1),
      parentHash: hashAt(number - 1, branchAt(number - 1)),
      height: number,
      timestamp: BigInt(1_700_000_000 + number),
    };
    const rows = { transactions: [], instructions: [], logs: [], balances: [], tokenBalances: [] };
    return { header, bytes: buildSegment([{ header, ...rows, rewards: [] }]) };
  });
}

export const refAt = (number: number, branch = 0) => ({
  number: slot(number),
  hash: hashAt(number, branch),
});

/** Reads every block of a dataset, sealed and hot. */
export async function readAll(dataset: Dataset): Promise<Block[]> {
  const lease = dataset.acquire();
  const blocks: Block[] = [];
  for (const segment of lease.snapshot.segments) {
    blocks.push(...decodeBlocks(openSegment(await dataset.readSegment(segment))));
  }
  for (const hot of lease.snapshot.hot) blocks.push(await decodeHotBlock(dataset, hot));
  lease.release();
  return blocks;
}

/** Returns the state that must be equal in two members. */
export function stateOf(dataset: Dataset) {
  const { start, head, finalized, segments, hot, replaced } = dataset.snapshot();
  const ids = segments.map(({ id }) => id);
  return {
    start,
    head,
    finalized,
    ids,
    hot: hot.map(({ header }) => header),
    replaced: [...replaced],
  };
}
