import { assert } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import { mapOrdered } from '@sluice/base/map-ordered';
import type { ChainSnapshot, SealedSegment } from '../chain/chain-snapshot.ts';
import {
  allLists,
  indexFile,
  listFile,
  type ReadList,
  segmentsFrom,
  totalSealed,
} from '../chain/segment-lists.ts';
import type { BuiltSegment } from '../dataset/merge/built-segment.ts';
import type { SegmentSequence } from '../dataset/merge/merge-thread.ts';
import { describeBuilt, SegmentStore } from '../dataset/segment-store.ts';
import { readStoredDataset, type StoredDataset } from '../dataset/stored/stored-dataset.ts';
import { type Fs, readWholeFile } from '../storage/fs.ts';
import type { Bucket } from './bucket.ts';
import { sealedPart } from './bucket-manifest.ts';
import { readFolderOwner, writeFolderOwner } from './folder-owner.ts';

export interface TransferDependencies {
  readonly fs: Fs;
  readonly merge: (segments: SegmentSequence) => Promise<BuiltSegment>;
  readonly newWriter: () => string;
  /** Called for each segment with its number of blocks and bytes. */
  readonly onPart: (blockCount: number, byteLength: number) => void;
  readonly signal: AbortSignal;
}

/** Uploads at the same time. Each needs the memory of a segment, a few tens of megabytes. */
const uploadCountMax = 4;

export interface PushSummary {
  readonly segments: number;
  readonly manifest: number;
  /** The number of blocks that are not finalized and were not copied. */
  readonly leftBlocks: number;
}

/**
 * Copies the finalized blocks of a dataset's folder to a bucket. Segments that the bucket already has are not sent again, so an
 * interrupted push can be continued. The folder becomes the owner of the dataset in the bucket.
 */
export async function pushDataset(
  folder: string,
  bucket: Bucket,
  dependencies: TransferDependencies,
): Promise<PushSummary> {
  const { fs, signal } = dependencies;
  const latest = await bucket.log.readLatest();
  const owner = await readFolderOwner(folder, fs);
  if (latest !== undefined && latest.manifest.writer !== owner?.writer) {
    throw new CodedError('store-owned', { dataset: bucket.dataset, manifest: latest.number });
  }
  const stored = await readStoredDataset(folder, fs);
  const { snapshot } = stored;
  const files = new SegmentStore(folder, fs);
  const readList: ReadList = (list) => files.readList(list);
  const objects = await bucket.store.list(`${bucket.dataset}/segments/`);
  const sizes = new Map(objects.map(({ key, byteLength }) => [key, byteLength]));
  const pushed = mapOrdered(
    segmentsFrom(snapshot, 0, readList),
    () => uploadCountMax,
    async (segment) => {
      if (signal.aborted) throw new CodedError('cli-interrupted');
      if (sizes.get(bucket.segments.keyOf(segment)) !== segment.byteLength) {
        const bytes = await readWholeFile(fs, `${folder}/segments/${segment.id}`);
        await bucket.segments.upload(segment, bytes);
      }
      return segment;
    },
  );
  for await (const { blockCount, byteLength } of pushed)
    dependencies.onPart(blockCount, byteLength);
  for await (const list of allLists(snapshot.lists, readList)) {
    const bytes = await readWholeFile(fs, `${folder}/${listFile(list)}`);
    await bucket.segments.writeList(list, bytes);
  }
  await pushIndexes(folder, snapshot, bucket, fs);
  const last = await pushHot(stored, bucket, dependencies);
  const chain = last === undefined ? snapshot : withSegment(snapshot, last);
  const writer = owner?.writer ?? dependencies.newWriter();
  const number = (latest?.number ?? 0) + 1;
  const { manifest: dataset } = stored;
  await writeFolderOwner(folder, { kind: 'folder', writer }, fs);
  await bucket.log.create({ number, writer, dataset, chain: sealedPart(chain), feed: null });
  const { segmentCount } = totalSealed(chain);
  return { segments: segmentCount, manifest: number, leftBlocks: chain.hot.length };
}

async function pushIndexes(
  folder: string,
  { indexes }: ChainSnapshot,
  { store, dataset, segments }: Bucket,
  fs: Fs,
): Promise<void> {
  const objects = await store.list(`${dataset}/indexes/`);
  const sizes = new Map(objects.map(({ key, byteLength }) => [key, byteLength]));
  for (const run of indexes)
    await segments.indexes.upload(
      run,
      { fs, path: `${folder}/${indexFile(run)}` },
      (key, byteLength) => sizes.get(key) === byteLength,
    );
}

/** Uploads the finalized blocks of the journal as one segment. */
async function pushHot(
  { snapshot, readHotBlock }: StoredDataset,
  bucket: Bucket,
  { merge, onPart }: TransferDependencies,
): Promise<SealedSegment | undefined> {
  const finalized = snapshot.finalized?.number ?? -1;
  const blocks = snapshot.hot.filter(({ header }) => header.number <= finalized);
  if (blocks.length === 0) return undefined;
  const payloads = await Promise.all(blocks.map((block) => readHotBlock(block)));
  const built = await merge(payloads);
  const segment = describeBuilt(
    built,
    blocks.map(({ header }) => header),
  );
  await bucket.segments.upload(segment, Buffer.concat(built.parts));
  onPart(segment.blockCount, segment.byteLength);
  return segment;
}

function withSegment(snapshot: ChainSnapshot, segment: SealedSegment): ChainSnapshot {
  const hot = snapshot.hot.slice(segment.blockCount);
  assert(hot.length + segment.blockCount === snapshot.hot.length, 'finalized blocks come first');
  return { ...snapshot, segments: [...snapshot.segments, segment], hot };
}
