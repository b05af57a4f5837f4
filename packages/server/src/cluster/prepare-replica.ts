import { CodedError } from '@sluice/base/errors';
import { manifestName } from '../dataset/manifest.ts';
import { datasetExists } from '../dataset/stored/create-dataset.ts';
import { restoreDataset } from '../dataset/stored/restore-dataset.ts';
import { type Fs, removeIfExists } from '../storage/fs.ts';
import type { Bucket } from './bucket.ts';
import { type BucketManifest, type ManifestLog, sealedPart } from './bucket-manifest.ts';
import type { Feed } from './feed.ts';
import { readFolderOwner, writeFolderOwner } from './folder-owner.ts';

export interface PrepareReplicaOptions {
  readonly writer: string;
  readonly mayWrite: boolean;
}

/**
 * Recreates the folder of a dataset from the newest manifest of the bucket. Only the cache of an earlier process is kept. Returns the
 * manifest; undefined for a new dataset.
 */
export async function prepareReplica(
  folder: string,
  options: PrepareReplicaOptions,
  { fs, bucket, feed }: { readonly fs: Fs; readonly bucket: Bucket; readonly feed: Feed },
): Promise<BucketManifest | undefined> {
  const owner = await readFolderOwner(folder, fs);
  if (owner?.kind !== 'replica' && (await datasetExists(folder, fs))) {
    throw new CodedError('replica-folder-foreign', { folder });
  }
  await fs.makeFolder(folder);
  await writeFolderOwner(folder, { kind: 'replica', writer: options.writer }, fs);
  await removeIfExists(fs, `${folder}/${manifestName}`);
  await fs.removeFolder(`${folder}/journal`);
  const manifest = await readFitting(bucket.log, feed, options);
  if (manifest !== undefined) {
    const chain = sealedPart(manifest.chain);
    await restoreDataset(folder, { manifest: manifest.dataset, chain }, { fs });
  }
  return manifest;
}

/**
 * Returns the newest manifest. If the stream was created again or has lost messages, it does not fit the manifest. Then a writer starts a
 * new epoch: a manifest with only the sealed blocks, positioned at the end of the stream. The other blocks are loaded from the sources
 * again.
 */
async function readFitting(
  log: ManifestLog,
  feed: Feed,
  { writer, mayWrite }: PrepareReplicaOptions,
): Promise<BucketManifest | undefined> {
  const latest = await log.readLatest();
  if (latest === undefined) return undefined;
  const { manifest } = latest;
  const sequence = await feed.readLastSequence();
  const isFitting = manifest.feed === null ? sequence === 0 : manifest.feed.sequence <= sequence;
  if (isFitting) return manifest;
  if (!mayWrite) {
    const wanted = manifest.feed?.sequence ?? 0;
    throw new CodedError('feed-reset', { manifest: manifest.number, wanted, last: sequence });
  }
  const number = latest.number + 1;
  const fresh: BucketManifest = {
    number,
    writer,
    dataset: manifest.dataset,
    chain: sealedPart(manifest.chain),
    feed: { epoch: number, sequence, blocks: [] },
  };
  await log.create(fresh);
  return fresh;
}
