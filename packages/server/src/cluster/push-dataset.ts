import { CodedError } from '@sluice/base/errors';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import { totalSealed } from '../chain/segment-lists.ts';
import type { Bucket } from './bucket.ts';
import { sealedPart } from './bucket-manifest.ts';
import { type CopyDependencies, type CopyTarget, copyDataset } from './copy-dataset.ts';
import { readFolderOwner, writeFolderOwner } from './folder-owner.ts';

export interface PushDependencies extends CopyDependencies {
  readonly newWriter: () => string;
}

export interface PushSummary {
  readonly segments: number;
  readonly manifest: number;
  /** The number of blocks that are not finalized and were not copied. */
  readonly leftBlocks: number;
}

/** Copies the finalized blocks of a dataset's folder to a bucket. The folder becomes the owner of the dataset in the bucket. */
export async function pushDataset(
  folder: string,
  bucket: Bucket,
  dependencies: PushDependencies,
): Promise<PushSummary> {
  const { fs } = dependencies;
  const latest = await bucket.log.readLatest();
  const owner = await readFolderOwner(folder, fs);
  if (latest !== undefined && latest.manifest.writer !== owner?.writer) {
    throw new CodedError('store-owned', { dataset: bucket.dataset, manifest: latest.number });
  }
  const { manifest: dataset, chain } = await copyDataset(
    folder,
    await openTarget(bucket),
    dependencies,
  );
  const writer = owner?.writer ?? dependencies.newWriter();
  const number = (latest?.number ?? 0) + 1;
  await writeFolderOwner(folder, { kind: 'folder', writer }, fs);
  await bucket.log.create({ number, writer, dataset, chain: sealedPart(chain), feed: null });
  const { segmentCount } = totalSealed(chain);
  return { segments: segmentCount, manifest: number, leftBlocks: chain.hot.length };
}

/** Returns a bucket as the target of a copy. What it has is listed once. */
export async function openTarget({ store, segments, dataset }: Bucket): Promise<CopyTarget> {
  const sizes = new Map<string, number>();
  for (const folder of ['segments', 'indexes'])
    for (const { key, byteLength } of await store.list(`${dataset}/${folder}/`))
      sizes.set(key, byteLength);
  const isStored = (key: string, byteLength: number) => sizes.get(key) === byteLength;
  return {
    has: (segment: SealedSegment) => isStored(segments.keyOf(segment), segment.byteLength),
    writeSegment: (segment, bytes) => segments.upload(segment, bytes),
    writeList: (list, bytes) => segments.writeList(list, bytes),
    hasIndex: (run) => segments.indexes.isComplete(run, isStored),
    writeIndex: (run, file) => segments.indexes.upload(run, file, isStored),
  };
}
