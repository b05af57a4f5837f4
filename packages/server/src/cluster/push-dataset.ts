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
    openTarget(bucket, await listStored(bucket)),
    dependencies,
  );
  const writer = owner?.writer ?? dependencies.newWriter();
  const number = (latest?.number ?? 0) + 1;
  await writeFolderOwner(folder, { kind: 'folder', writer }, fs);
  await bucket.log.create({ number, writer, dataset, chain: sealedPart(chain), feed: null });
  const { segmentCount } = totalSealed(chain);
  return { segments: segmentCount, manifest: number, leftBlocks: chain.hot.length };
}

/** The sizes of the files that a dataset in a bucket has, by key. */
export type StoredFiles = Map<string, number>;

export async function listStored({ store, dataset }: Bucket): Promise<StoredFiles> {
  const sizes: StoredFiles = new Map();
  for (const folder of ['manifests', 'segments', 'lists', 'indexes'])
    for (const { key, byteLength } of await store.list(`${dataset}/${folder}/`))
      sizes.set(key, byteLength);
  return sizes;
}

/** Returns a bucket as the target of a copy. What is written is added to the files that it has, because a copy may begin again. */
export function openTarget({ segments }: Bucket, stored: StoredFiles): CopyTarget {
  const isStored = (key: string, byteLength: number) => stored.get(key) === byteLength;
  return {
    has: (segment: SealedSegment) => isStored(segments.keyOf(segment), segment.byteLength),
    writeSegment: async (segment, bytes) => {
      await segments.upload(segment, bytes);
      stored.set(segments.keyOf(segment), bytes.length);
    },
    writeList: async (list, bytes) => {
      await segments.writeList(list, bytes);
      stored.set(segments.listKeyOf(list), bytes.length);
    },
    hasIndex: (run) => segments.indexes.isComplete(run, isStored),
    writeIndex: async (run, file) => {
      const written = await segments.indexes.upload(run, file, isStored);
      for (const { key, byteLength } of written) stored.set(key, byteLength);
    },
  };
}
