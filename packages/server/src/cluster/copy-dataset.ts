/** Copies the finalized blocks of a dataset's folder elsewhere, also while a service writes it. */
import { crc32 } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { addDetail, CodedError, isCodedError } from '@sluice/base/errors';
import { mapOrdered } from '@sluice/base/map-ordered';
import type {
  ChainSnapshot,
  IndexRun,
  SealedSegment,
  SegmentList,
} from '../chain/chain-snapshot.ts';
import {
  allLists,
  indexFile,
  listFile,
  type ReadList,
  segmentFile,
  segmentsFrom,
} from '../chain/segment-lists.ts';
import type { BuiltSegment } from '../dataset/merge/built-segment.ts';
import type { SegmentSequence } from '../dataset/merge/merge-thread.ts';
import { describeBuilt, SegmentStore } from '../dataset/segment-store.ts';
import { readStoredDataset, type StoredDataset } from '../dataset/stored/stored-dataset.ts';
import { verifyIndexFile } from '../dataset/stored/verify-index-file.ts';
import { type Fs, readWholeFile } from '../storage/fs.ts';
import type { LocalFile } from './bucket-indexes.ts';
import { checksumOf } from './bucket-segments.ts';
import { readFolderOwner } from './folder-owner.ts';

export interface CopyDependencies {
  readonly fs: Fs;
  readonly merge: (segments: SegmentSequence) => Promise<BuiltSegment>;
  /** Called for each segment with its number of blocks and the number of bytes that were copied: 0 if the target had it already. */
  readonly onPart: (blockCount: number, byteLength: number) => void;
  readonly signal: AbortSignal;
}

/** Where the files of a dataset are copied to. Files that it has are not sent again, so an interrupted copy can be continued. */
export interface CopyTarget {
  has(segment: SealedSegment): Promise<boolean> | boolean;
  writeSegment(segment: SealedSegment, bytes: Uint8Array): Promise<void>;
  writeList(list: SegmentList, bytes: Uint8Array): Promise<void>;
  hasIndex(run: IndexRun): Promise<boolean> | boolean;
  writeIndex(run: IndexRun, file: LocalFile): Promise<void>;
}

export interface CopiedDataset {
  readonly manifest: StoredDataset['manifest'];
  /** The finalized blocks, all of them in segments, and after them the others, which were not copied. */
  readonly chain: ChainSnapshot;
}

/** Copies at the same time. Each needs the memory of a segment. */
const copyCountMax = 4;
/** A service that merges or removes segments during the copy makes it read the state again. Merges are minutes apart. */
const attemptCountMax = 100;

export async function copyDataset(
  folder: string,
  target: CopyTarget,
  dependencies: CopyDependencies,
): Promise<CopiedDataset> {
  const reported = new Set<string>();
  const onPart: StateCopy['onPart'] = ({ segment, isSent }) => {
    if (reported.has(segment.id)) return;
    reported.add(segment.id);
    dependencies.onPart(segment.blockCount, isSent ? segment.byteLength : 0);
  };
  for (let attempt = 1; ; attempt++) {
    const stored = await readStoredDataset(folder, dependencies.fs);
    try {
      return await copyState(folder, stored, { ...dependencies, target, onPart });
    } catch (error) {
      if (!isCodedError(error, 'storage-missing')) throw error;
      if (await isInStore(folder, dependencies.fs)) throw inStore(stored, error);
      const isReplaced = await isChanged(folder, stored, dependencies.fs);
      if (!isReplaced || attempt === attemptCountMax) throw error;
    }
  }
}

/** Of a dataset with an object store, the folder has only the journal. */
async function isInStore(folder: string, fs: Fs): Promise<boolean> {
  return (await readFolderOwner(folder, fs)) !== undefined;
}

function inStore({ manifest }: StoredDataset, cause: CodedError): CodedError {
  return new CodedError('dataset-in-store', { dataset: manifest.name }, { cause });
}

/** A missing file is normal if the state has changed since; otherwise it is lost. */
async function isChanged(folder: string, { snapshot }: StoredDataset, fs: Fs): Promise<boolean> {
  return (await readStoredDataset(folder, fs)).snapshot.version !== snapshot.version;
}

interface CopiedSegment {
  readonly segment: SealedSegment;
  /** False if the target had it. */
  readonly isSent: boolean;
}

interface StateCopy extends Omit<CopyDependencies, 'onPart'> {
  readonly target: CopyTarget;
  readonly onPart: (copied: CopiedSegment) => void;
}

async function copyState(
  folder: string,
  stored: StoredDataset,
  copy: StateCopy,
): Promise<CopiedDataset> {
  const { fs, target, signal, onPart } = copy;
  const { snapshot, manifest } = stored;
  const files = new SegmentStore(folder, fs);
  const readList: ReadList = (list) => namingFile(listFile(list), files.readList(list));
  const readFile = (file: string) => namingFile(file, readWholeFile(fs, `${folder}/${file}`));
  const copied = mapOrdered(
    segmentsFrom(snapshot, 0, readList),
    () => copyCountMax,
    async (segment) => {
      if (signal.aborted) throw new CodedError('copy-interrupted');
      const isSent = !(await target.has(segment));
      if (isSent) {
        const bytes = await readFile(segmentFile(segment));
        await target.writeSegment(segment, verified(segment, bytes));
      }
      return { segment, isSent };
    },
  );
  for await (const one of copied) onPart(one);
  for await (const list of allLists(snapshot.lists, readList))
    await target.writeList(list, await readFile(listFile(list)));
  for (const run of snapshot.indexes)
    await copyIndex(run, { fs, path: `${folder}/${indexFile(run)}` }, copy);
  const last = await copyHot(stored, copy);
  return { manifest, chain: last === undefined ? snapshot : withSegment(snapshot, last) };
}

async function copyIndex(
  run: IndexRun,
  file: LocalFile,
  { target, signal }: StateCopy,
): Promise<void> {
  if (signal.aborted) throw new CodedError('copy-interrupted');
  if (await target.hasIndex(run)) return;
  await namingFile(indexFile(run), verifyIndexFile(run, file.path, file.fs));
  await target.writeIndex(run, file);
}

/** Adds the name of the file to an error about it. */
export async function namingFile<Result>(file: string, read: Promise<Result>): Promise<Result> {
  try {
    return await read;
  } catch (error) {
    const isAboutFile =
      isCodedError(error, 'segment-damaged') || isCodedError(error, 'storage-missing');
    throw isAboutFile ? addDetail(error, { file }) : error;
  }
}

/** A damaged file is not copied, so that it does not replace a good one elsewhere. */
function verified(segment: SealedSegment, bytes: Uint8Array): Uint8Array {
  const isSame = bytes.length === segment.byteLength && crc32(bytes) === checksumOf(segment);
  if (!isSame) throw new CodedError('segment-damaged', { segment: segment.id });
  return bytes;
}

/** Copies the finalized blocks of the journal as one segment. */
async function copyHot(
  { snapshot, readHotBlock }: StoredDataset,
  { merge, target, onPart }: StateCopy,
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
  const isSent = !(await target.has(segment));
  if (isSent) await target.writeSegment(segment, Buffer.concat(built.parts));
  onPart({ segment, isSent });
  return segment;
}

function withSegment(snapshot: ChainSnapshot, segment: SealedSegment): ChainSnapshot {
  const hot = snapshot.hot.slice(segment.blockCount);
  assert(hot.length + segment.blockCount === snapshot.hot.length, 'finalized blocks come first');
  return { ...snapshot, segments: [...snapshot.segments, segment], hot };
}
