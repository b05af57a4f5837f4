/**
 * A dataset of one machine whose segments are in a bucket: the journal is on the local disk, as without a bucket, and
 * the manifests in the bucket follow it. A machine that lost its disk starts again from the newest manifest.
 */
import { CodedError } from '@sluice/base/errors';
import { datasetExists } from '../dataset/stored/create-dataset.ts';
import { restoreDataset } from '../dataset/stored/restore-dataset.ts';
import { readStoredDataset } from '../dataset/stored/stored-dataset.ts';
import type { Fs } from '../storage/fs.ts';
import type { Bucket } from './bucket.ts';
import { sealedPart } from './bucket-manifest.ts';
import { readFolderOwner, writeFolderOwner } from './folder-owner.ts';

export interface OwnedFolder {
  readonly writer: string;
  /** The number of the newest manifest; 0 when the bucket has no manifest. */
  readonly number: number;
}

/**
 * Prepares the folder of a dataset before it is opened: restores it from the newest manifest if it does not exist, and refuses if
 * another folder writes to the bucket. `newWriter` returns a name for a folder that has none yet.
 */
export async function claimFolder(
  folder: string,
  bucket: Bucket,
  { fs, newWriter }: { readonly fs: Fs; readonly newWriter: () => string },
): Promise<OwnedFolder> {
  const latest = await bucket.log.readLatest();
  const owner = await readFolderOwner(folder, fs);
  const number = latest?.number ?? 0;
  const manifest = latest?.manifest;
  if (await datasetExists(folder, fs)) {
    const isOurs =
      owner?.kind === 'folder' && (manifest === undefined || manifest.writer === owner.writer);
    if (isOurs) return { writer: owner.writer, number };
    if (owner !== undefined || manifest !== undefined) {
      throw new CodedError('store-owned', { dataset: bucket.dataset, manifest: number });
    }
    await checkNoSegments(folder, bucket.dataset, fs);
  }
  const writer = newWriter();
  await fs.makeFolder(folder);
  await writeFolderOwner(folder, { kind: 'folder', writer }, fs);
  if (manifest === undefined || (await datasetExists(folder, fs))) return { writer, number };
  // The manifest with the new owner is written before the folder has blocks, so that a start after a crash repeats these steps.
  const chain = sealedPart(manifest.chain);
  await bucket.log.create({ ...manifest, number: number + 1, writer, chain, feed: null });
  await restoreDataset(folder, { manifest: manifest.dataset, chain }, { fs });
  return { writer, number: number + 1 };
}

/** Refuses a folder with segments, because the dataset would look for them in the bucket. */
async function checkNoSegments(folder: string, dataset: string, fs: Fs): Promise<void> {
  const { snapshot } = await readStoredDataset(folder, fs);
  if (snapshot.segments.length > 0) throw new CodedError('store-manifest-missing', { dataset });
}
