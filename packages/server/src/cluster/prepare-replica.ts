import { CodedError } from '../base/errors.ts';
import { datasetExists } from '../dataset/create-dataset.ts';
import { manifestName } from '../dataset/manifest.ts';
import { restoreDataset } from '../dataset/restore-dataset.ts';
import { type Fs, removeIfExists } from '../storage/fs.ts';
import type { Bucket } from './bucket.ts';
import { type BucketManifest, type ManifestLog, sealedPart } from './bucket-manifest.ts';
import { readFolderOwner, writeFolderOwner } from './folder-owner.ts';

/** A writer that was replaced may have created the newest manifest from an older state, so this many are compared. */
const comparedCount = 2;

/**
 * Recreates the folder of a dataset from the best manifest of the bucket, and keeps only the cache of an earlier
 * process. Returns the manifest, undefined if the dataset is new.
 */
export async function prepareReplica(
  folder: string,
  bucket: Bucket,
  { fs, writer }: { readonly fs: Fs; readonly writer: string },
): Promise<BucketManifest | undefined> {
  const owner = await readFolderOwner(folder, fs);
  if (owner?.kind !== 'replica' && (await datasetExists(folder, fs))) {
    throw new CodedError('replica-folder-foreign', { folder });
  }
  await fs.makeFolder(folder);
  await writeFolderOwner(folder, { kind: 'replica', writer }, fs);
  await removeIfExists(fs, `${folder}/${manifestName}`);
  await fs.removeFolder(`${folder}/journal`);
  const manifest = await readBest(bucket.log);
  if (manifest !== undefined) {
    const chain = sealedPart(manifest.chain);
    await restoreDataset(folder, { manifest: manifest.dataset, chain }, { fs });
  }
  return manifest;
}

async function readBest(log: ManifestLog): Promise<BucketManifest | undefined> {
  const numbers = await log.listNumbers();
  let best: BucketManifest | undefined;
  for (const number of numbers.slice(-comparedCount)) {
    const manifest = await log.read(number);
    const isNewer = (manifest.feed?.sequence ?? 0) >= (best?.feed?.sequence ?? 0);
    if (isNewer) best = manifest;
  }
  return best;
}
