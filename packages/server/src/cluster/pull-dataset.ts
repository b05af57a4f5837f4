import { crc32 } from 'node:zlib';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import {
  allLists,
  indexFile,
  type ReadList,
  segmentsFrom,
  totalSealed,
} from '../chain/segment-lists.ts';
import { datasetExists } from '../dataset/stored/create-dataset.ts';
import { restoreDataset } from '../dataset/stored/restore-dataset.ts';
import { type Fs, readWholeFile, removeIfExists, writeFileAtomically } from '../storage/fs.ts';
import type { Bucket } from './bucket.ts';
import { sealedPart } from './bucket-manifest.ts';
import { checksumOf } from './bucket-segments.ts';
import type { TransferDependencies } from './push-dataset.ts';

/** No dataset name has this suffix, so an incomplete folder is never mistaken for a dataset. */
const partialSuffix = '.pulled';

/** Copies the sealed blocks of a bucket to a new folder. An interrupted pull continues with the segments that it already has. */
export async function pullDataset(
  folder: string,
  bucket: Bucket,
  { fs, onPart, signal }: Pick<TransferDependencies, 'fs' | 'onPart' | 'signal'>,
): Promise<{ readonly segments: number }> {
  if (await datasetExists(folder, fs)) throw new CodedError('dataset-exists', { folder });
  const latest = (await bucket.log.readLatest())?.manifest;
  if (latest === undefined) {
    throw new CodedError('store-manifest-missing', { dataset: bucket.dataset });
  }
  const partial = `${folder}${partialSuffix}`;
  await fs.makeFolder(`${partial}/segments`);
  const chain = sealedPart(latest.chain);
  const readList: ReadList = (list) => bucket.segments.readList(list);
  for await (const list of allLists(chain.lists, readList)) {
    const bytes = await bucket.store.get(bucket.segments.listKeyOf(list));
    await fs.makeFolder(`${partial}/lists`);
    await writeFileAtomically(fs, `${partial}/lists`, list.id, [bytes]);
  }
  await fs.makeFolder(`${partial}/indexes`);
  for (const run of chain.indexes) {
    await removeIfExists(fs, `${partial}/${indexFile(run)}`);
    await bucket.segments.indexes.download(run, { fs, path: `${partial}/${indexFile(run)}` });
  }
  for await (const segment of segmentsFrom(chain, 0, readList)) {
    if (signal.aborted) throw new CodedError('cli-interrupted');
    if (!(await hasSegment(`${partial}/segments`, segment, fs))) {
      const bytes = await bucket.segments.read(segment);
      await writeFileAtomically(fs, `${partial}/segments`, segment.id, [bytes]);
    }
    onPart(segment.blockCount, segment.byteLength);
  }
  await fs.removeFolder(`${partial}/journal`);
  await removeIfExists(fs, `${partial}/manifest.json`);
  await restoreDataset(partial, { manifest: latest.dataset, chain }, { fs });
  await fs.rename(partial, folder);
  await fs.syncFolder(folder.slice(0, Math.max(folder.lastIndexOf('/'), 1)));
  return { segments: totalSealed(chain).segmentCount };
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
