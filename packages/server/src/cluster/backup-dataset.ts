/**
 * Backups of a dataset in a bucket or a folder. A backup has the layout of a dataset in an object store, with the newest state only. Its files
 * never change, so a further backup sends only new ones.
 */
import { CodedError } from '@sluice/base/errors';
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
import { StoredReader } from '../dataset/stored/stored-reader.ts';
import type { Bucket } from './bucket.ts';
import { indexOfPiece } from './bucket-indexes.ts';
import { type LatestManifest, sealedPart } from './bucket-manifest.ts';
import { type CopyDependencies, copyDataset } from './copy-dataset.ts';
import { openTarget, type PushSummary } from './push-dataset.ts';

/** A manifest of this writer belongs to a backup and to no service. */
const backupWriter = 'backup';

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
  dependencies: CopyDependencies,
): Promise<BackupSummary> {
  const latest = await bucket.log.readLatest();
  if (latest !== undefined) await checkSameChain(folder, bucket, latest, dependencies);
  const { manifest: dataset, chain } = await copyDataset(
    folder,
    await openTarget(bucket),
    dependencies,
  );
  const number = (latest?.number ?? 0) + 1;
  const sealed = sealedPart({ ...chain, unused: [] });
  await bucket.log.create({ number, writer: backupWriter, dataset, chain: sealed, feed: null });
  const removedFiles = await removeOlder(bucket, sealed, number);
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

/** A dataset that was dropped and created again must not replace the backup of the old one. */
async function checkSameChain(
  folder: string,
  { dataset }: Bucket,
  { manifest, number }: LatestManifest,
  { fs }: CopyDependencies,
): Promise<void> {
  if (manifest.writer !== backupWriter)
    throw new CodedError('store-owned', { dataset, manifest: number });
  const reader = await StoredReader.open(folder, fs);
  const snapshot = reader.snapshot();
  const { finalized } = manifest.chain;
  // Without blocks in the backup there is nothing to lose. Retention may have removed the blocks of the backup.
  if (finalized === null || (snapshot.start !== null && snapshot.start > finalized.number)) return;
  const isAbove = snapshot.head === null || snapshot.head.number < finalized.number;
  const found = isAbove ? undefined : await findBlockAtOrAfter(snapshot, finalized.number, reader);
  if (found?.hash === finalized.hash) return;
  throw new CodedError('backup-differs', { dataset, slot: finalized.number, hash: finalized.hash });
}

/** Removes earlier manifests and the files that only they need. */
async function removeOlder(
  { store, segments, log, dataset }: Bucket,
  chain: ChainSnapshot,
  number: number,
): Promise<number> {
  const readList: ReadList = (list) => segments.readList(list);
  const needed = new Set<string>([log.keyOf(number)]);
  for await (const segment of segmentsFrom(chain, 0, readList))
    needed.add(`${dataset}/${segmentFile(segment)}`);
  for await (const list of allLists(chain.lists, readList))
    needed.add(`${dataset}/${listFile(list)}`);
  for (const run of chain.indexes) needed.add(`${dataset}/${indexFile(run)}`);
  let removedCount = 0;
  for (const folder of ['manifests', 'segments', 'lists', 'indexes']) {
    for (const { key } of await store.list(`${dataset}/${folder}/`)) {
      if (needed.has(key) || needed.has(indexOfPiece(key))) continue;
      await store.remove(key);
      removedCount++;
    }
  }
  return removedCount;
}

/** Reads a whole backup and verifies the checksums of its files. Returns the number of segments. */
export async function verifyBackup(
  bucket: Bucket,
  { onPart, signal }: Pick<CopyDependencies, 'onPart' | 'signal'>,
): Promise<number> {
  const { dataset, segments, log } = bucket;
  const latest = await log.readLatest();
  if (latest === undefined) throw new CodedError('store-manifest-missing', { dataset });
  const { chain } = latest.manifest;
  const readList: ReadList = (list) => segments.readList(list);
  let count = 0;
  for await (const segment of segmentsFrom(chain, 0, readList)) {
    if (signal.aborted) throw new CodedError('cli-interrupted');
    await segments.read(segment);
    onPart(segment.blockCount, segment.byteLength);
    count++;
  }
  for (const run of chain.indexes) await segments.indexes.verify(run);
  return count;
}
