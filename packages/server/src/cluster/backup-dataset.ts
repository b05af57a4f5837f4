/**
 * Backups of a dataset in a bucket or a folder. A backup has the layout of a dataset in an object store, with the newest state only. Its files
 * never change, so a further backup sends only new ones.
 */
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { findBlockAtOrAfter } from '../chain/find-blocks.ts';
import {
  allLists,
  indexFile,
  listFile,
  type ReadList,
  segmentFile,
  segmentsFrom,
  totalSealed,
} from '../chain/segment-lists.ts';
import { manifestName } from '../dataset/manifest.ts';
import { StoredReader } from '../dataset/stored/stored-reader.ts';
import type { Bucket } from './bucket.ts';
import { indexOfPiece } from './bucket-indexes.ts';
import { type BucketManifest, type LatestManifest, sealedPart } from './bucket-manifest.ts';
import { type CopyDependencies, copyDataset } from './copy-dataset.ts';
import { listStored, openTarget, type PushSummary, type StoredFiles } from './push-dataset.ts';

/** A manifest of this writer belongs to a backup and to no service. */
const backupWriter = 'backup';

export interface BackupDependencies extends CopyDependencies {
  /** Replaces an earlier backup even if it may be one of another chain. */
  readonly replace?: boolean;
}

export interface BackupSummary extends PushSummary {
  readonly blocks: number;
  readonly last: number | null;
  /** Files of earlier backups that the newest one does not need. */
  readonly removedFiles: number;
}

/** Brings the backup of a dataset's folder up to date, also while a service writes the dataset. */
export async function backupDataset(
  folder: string,
  bucket: Bucket,
  dependencies: BackupDependencies,
): Promise<BackupSummary> {
  await checkIsNoDataset(bucket);
  const latest = await bucket.log.readLatest();
  if (latest !== undefined) await checkSameChain(folder, bucket, latest, dependencies);
  const stored = await listStored(bucket);
  const { manifest: dataset, chain } = await copyDataset(
    folder,
    openTarget(bucket, stored),
    dependencies,
  );
  const number = (latest?.number ?? 0) + 1;
  const sealed = sealedPart({ ...chain, unused: [] });
  await createManifest(bucket, {
    number,
    writer: backupWriter,
    dataset,
    chain: sealed,
    feed: null,
  });
  const removedFiles = await removeOlder(bucket, sealed, { number, stored });
  const { segmentCount, blockCount } = totalSealed(sealed);
  return {
    segments: segmentCount,
    blocks: blockCount,
    last: sealed.head?.number ?? null,
    manifest: number,
    leftBlocks: chain.hot.length,
    removedFiles,
  };
}

async function createManifest({ log, dataset }: Bucket, manifest: BucketManifest): Promise<void> {
  try {
    await log.create(manifest);
  } catch (error) {
    throw isCodedError(error, 'store-fenced')
      ? new CodedError('backup-overlapped', { dataset }, { cause: error })
      : error;
  }
}

/** A backup removes files that it does not need. In a dataset that a service uses, which has the same folders, they would be needed. */
async function checkIsNoDataset({ store, dataset }: Bucket): Promise<void> {
  const isDataset =
    (await store.head(`${dataset}/${manifestName}`)) !== undefined ||
    (await store.list(`${dataset}/journal/`)).length > 0;
  if (isDataset) throw new CodedError('backup-target-used', { dataset });
}

/**
 * A dataset that was dropped and created again must not replace the backup of the old one. The dataset must therefore have the newest block of
 * the backup. If retention has removed that block, the chains cannot be compared, and the user has to decide.
 */
async function checkSameChain(
  folder: string,
  { dataset }: Bucket,
  { manifest, number }: LatestManifest,
  { fs, replace }: BackupDependencies,
): Promise<void> {
  if (manifest.writer !== backupWriter)
    throw new CodedError('store-owned', { dataset, manifest: number });
  const { finalized } = manifest.chain;
  // A backup without blocks can be replaced by any dataset.
  if (replace === true || finalized === null) return;
  const reader = await StoredReader.open(folder, fs);
  const snapshot = reader.snapshot();
  const isAbove = snapshot.head === null || snapshot.head.number < finalized.number;
  const found = isAbove ? undefined : await findBlockAtOrAfter(snapshot, finalized.number, reader);
  if (found?.hash === finalized.hash) return;
  throw new CodedError('backup-differs', { dataset, slot: finalized.number, hash: finalized.hash });
}

interface Written {
  readonly number: number;
  /** The files that the backup had at its start, and those that were written since. */
  readonly stored: StoredFiles;
}

/**
 * Removes earlier manifests and the files that only they need. Another backup may run at the same time, so files that it has written, and all
 * files if it has ended since, are left for the next backup.
 */
async function removeOlder(
  { store, segments, log, dataset }: Bucket,
  chain: ChainSnapshot,
  { number, stored }: Written,
): Promise<number> {
  if ((await log.readLatest())?.number !== number) return 0;
  const readList: ReadList = (list) => segments.readList(list);
  const needed = new Set<string>();
  for await (const segment of segmentsFrom(chain, 0, readList))
    needed.add(`${dataset}/${segmentFile(segment)}`);
  for await (const list of allLists(chain.lists, readList))
    needed.add(`${dataset}/${listFile(list)}`);
  for (const run of chain.indexes) needed.add(`${dataset}/${indexFile(run)}`);
  let removedCount = 0;
  for (const key of stored.keys()) {
    if (needed.has(key) || needed.has(indexOfPiece(key))) continue;
    await store.remove(key);
    removedCount++;
  }
  return removedCount;
}

export interface VerifiedBackup {
  readonly segments: number;
  readonly damages: readonly BackupDamage[];
}

export interface BackupDamage {
  readonly file: string;
  /** Removes the file, so that the next backup sends it again. */
  readonly remove: () => Promise<void>;
}

/** Reads a whole backup and verifies the checksums of its files. */
export async function verifyBackup(
  bucket: Bucket,
  { onPart, signal }: Pick<CopyDependencies, 'onPart' | 'signal'>,
): Promise<VerifiedBackup> {
  const { dataset, store, segments, log } = bucket;
  const latest = await log.readLatest();
  if (latest === undefined) throw new CodedError('store-manifest-missing', { dataset });
  const { chain } = latest.manifest;
  const damages: BackupDamage[] = [];
  const check = async (read: Promise<unknown>, damage: BackupDamage) => {
    if (await isIntact(read)) return;
    damages.push(damage);
  };
  let count = 0;
  for await (const segment of segmentsFrom(chain, 0, (list) => segments.readList(list))) {
    if (signal.aborted) throw new CodedError('copy-interrupted');
    const remove = () => store.remove(segments.keyOf(segment));
    await check(segments.read(segment), { file: segmentFile(segment), remove });
    onPart(segment.blockCount, segment.byteLength);
    count++;
  }
  for (const run of chain.indexes) {
    if (signal.aborted) throw new CodedError('copy-interrupted');
    const remove = () => segments.indexes.remove(run);
    await check(segments.indexes.verify(run), { file: indexFile(run), remove });
  }
  return { segments: count, damages };
}

/** Returns false if the file is damaged or missing. Other failures, as of the network, are thrown, because the file may be intact. */
async function isIntact(read: Promise<unknown>): Promise<boolean> {
  try {
    await read;
    return true;
  } catch (error) {
    if (isCodedError(error, 'segment-damaged') || isCodedError(error, 'store-object-missing'))
      return false;
    throw error;
  }
}
