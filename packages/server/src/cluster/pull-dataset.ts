import { crc32 } from 'node:zlib';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { ChainSnapshot, IndexRun, SealedSegment } from '../chain/chain-snapshot.ts';
import {
  allLists,
  indexFile,
  type ReadList,
  segmentsFrom,
  totalSealed,
} from '../chain/segment-lists.ts';
import { listIfExists } from '../dataset/dataset-files.ts';
import type { Manifest } from '../dataset/manifest.ts';
import { datasetExists } from '../dataset/stored/create-dataset.ts';
import { restoreDataset } from '../dataset/stored/restore-dataset.ts';
import { verifyIndexFile } from '../dataset/stored/verify-index-file.ts';
import { type Fs, readWholeFile, removeIfExists, writeFileAtomically } from '../storage/fs.ts';
import type { Bucket } from './bucket.ts';
import { sealedPart } from './bucket-manifest.ts';
import { checksumOf } from './bucket-segments.ts';
import { type CopyDependencies, type CopyTarget, copyDataset, namingFile } from './copy-dataset.ts';

/** No dataset name has this suffix, so an incomplete folder is never mistaken for a dataset. */
const partialSuffix = '.pulled';

export interface PullSummary {
  readonly segments: number;
}

/** Copies the sealed blocks of a bucket to a new folder. An interrupted pull continues with the segments that it already has. */
export async function pullDataset(
  folder: string,
  bucket: Bucket,
  { fs, onPart, signal }: Pick<CopyDependencies, 'fs' | 'onPart' | 'signal'>,
): Promise<PullSummary> {
  await checkIsFree(folder, fs);
  const latest = (await bucket.log.readLatest())?.manifest;
  if (latest === undefined) {
    throw new CodedError('store-manifest-missing', { dataset: bucket.dataset });
  }
  const { indexes } = bucket.segments;
  const target = folderTarget(folder, fs);
  const chain = sealedPart(latest.chain);
  const readList: ReadList = (list) => bucket.segments.readList(list);
  for await (const list of allLists(chain.lists, readList))
    await target.writeList(list, await bucket.store.get(bucket.segments.listKeyOf(list)));
  for (const run of chain.indexes) {
    if (signal.aborted) throw new CodedError('copy-interrupted');
    if (await target.hasIndex(run)) continue;
    await target.fillIndex(run, async (path) => {
      await indexes.download(run, { fs, path });
      await namingFile(indexFile(run), verifyIndexFile(run, path, fs));
    });
  }
  for await (const segment of segmentsFrom(chain, 0, readList)) {
    if (signal.aborted) throw new CodedError('copy-interrupted');
    const isFetched = !(await target.has(segment));
    if (isFetched) await target.writeSegment(segment, await bucket.segments.read(segment));
    onPart(segment.blockCount, isFetched ? segment.byteLength : 0);
  }
  return target.finish({ manifest: latest.dataset, chain });
}

/** The copy gets the name of the folder at its end, which must not fail after hours because of other files. */
async function checkIsFree(folder: string, fs: Fs): Promise<void> {
  if (await datasetExists(folder, fs)) throw new CodedError('dataset-exists', { folder });
  if ((await listIfExists(folder, fs)).length > 0)
    throw new CodedError('dataset-folder-used', { folder });
}

/** Copies the finalized blocks of a dataset's folder to a new folder, also while a service writes the dataset. */
export async function copyToFolder(
  source: string,
  folder: string,
  dependencies: CopyDependencies,
): Promise<PullSummary> {
  const { fs } = dependencies;
  await checkIsFree(folder, fs);
  const target = folderTarget(folder, fs);
  const { manifest, chain } = await copyDataset(source, target, dependencies);
  return target.finish({ manifest, chain: sealedPart(chain) });
}

interface FolderTarget extends CopyTarget {
  /** Lets `fill` write the file of an index. */
  fillIndex(run: IndexRun, fill: (path: string) => Promise<void>): Promise<void>;
  /** Makes the copied files a dataset. */
  finish(state: {
    readonly manifest: Manifest;
    readonly chain: ChainSnapshot;
  }): Promise<PullSummary>;
}

/** Returns a new folder as the target of a copy. It gets its name when it is complete. */
function folderTarget(folder: string, fs: Fs): FolderTarget {
  const partial = `${folder}${partialSuffix}`;
  const write = async (subfolder: string, name: string, bytes: Uint8Array) => {
    checkFileName(name);
    await fs.makeFolder(`${partial}/${subfolder}`);
    await writeFileAtomically(fs, `${partial}/${subfolder}`, name, [bytes]);
  };
  const fillIndex: FolderTarget['fillIndex'] = async (run, fill) => {
    checkFileName(run.id);
    await fs.makeFolder(`${partial}/indexes`);
    await removeIfExists(fs, `${partial}/${indexFile(run)}`);
    await fill(`${partial}/${indexFile(run)}`);
  };
  return {
    has: (segment) => hasSegment(`${partial}/segments`, segment, fs),
    writeSegment: (segment, bytes) => write('segments', segment.id, bytes),
    writeList: (list, bytes) => write('lists', list.id, bytes),
    hasIndex: (run) => hasIndex(run, `${partial}/${indexFile(run)}`, fs),
    writeIndex: (run, file) =>
      fillIndex(run, async (path) => copyFile(file.path, path, run.byteLength, fs)),
    fillIndex,
    finish: async ({ manifest, chain }) => {
      await fs.makeFolder(`${partial}/segments`);
      await fs.removeFolder(`${partial}/journal`);
      await removeIfExists(fs, `${partial}/manifest.json`);
      await restoreDataset(partial, { manifest, chain }, { fs });
      await fs.rename(partial, folder);
      await fs.syncFolder(folder.slice(0, Math.max(folder.lastIndexOf('/'), 1)));
      return { segments: totalSealed(chain).segmentCount };
    },
  };
}

/** The names come from a bucket, which others may have written. A path as a name would write files outside the new folder. */
function checkFileName(name: string): void {
  if (/^\w[\w.-]*$/.test(name)) return;
  throw new CodedError('backup-damaged', { file: name });
}

/** Indexes are copied by pieces of this size. */
const pieceBytes = 64 << 20;

async function copyFile(from: string, to: string, byteLength: number, fs: Fs): Promise<void> {
  const source = await fs.openFile(from, 'read');
  try {
    const target = await fs.openFile(to, 'create');
    try {
      for (let at = 0; at < byteLength; at += pieceBytes)
        await target.write(at, [await source.read(at, Math.min(pieceBytes, byteLength - at))]);
      await target.sync();
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function hasIndex(run: IndexRun, path: string, fs: Fs): Promise<boolean> {
  try {
    await verifyIndexFile(run, path, fs);
    return true;
  } catch (error) {
    if (isCodedError(error, 'storage-missing') || isCodedError(error, 'segment-damaged'))
      return false;
    throw error;
  }
}

async function hasSegment(folder: string, segment: SealedSegment, fs: Fs): Promise<boolean> {
  try {
    const bytes = await readWholeFile(fs, `${folder}/${segment.id}`);
    return bytes.length === segment.byteLength && crc32(bytes) === checksumOf(segment);
  } catch (error) {
    if (isCodedError(error, 'storage-missing')) return false;
    throw error;
  }
}
