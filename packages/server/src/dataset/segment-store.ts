/** The sealed segments of a dataset and their lists: immutable files that are named after their content. */
import { assert } from '@sluice/base/assert';
import { discard } from '@sluice/base/memory/discard';
import type { BlockHeader } from '@sluice/ledger/block';
import type { IndexRun, SealedSegment, SegmentList } from '../chain/chain-snapshot.ts';
import { indexFile, type ListContent, listFile, segmentFile } from '../chain/segment-lists.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import type { IndexShape } from '../segment/history/layout.ts';
import { readSegmentHeaders } from '../segment/read/open-segment.ts';
import {
  type Fs,
  type FsFile,
  readWholeFile,
  removeIfExists,
  temporarySuffix,
  writeFileAtomically,
} from '../storage/fs.ts';
import { segmentSuffix } from './dataset-files.ts';
import type { IndexFiles, IndexInputs, MakeIndex } from './history/index-thread.ts';
import { parseList } from './list-files.ts';
import type { BuiltSegment } from './merge/built-segment.ts';
import type { SegmentFiles } from './segment-files.ts';

export class SegmentStore implements SegmentFiles {
  readonly isLocal = true;
  readonly #fs: Fs;
  readonly #folder: string;

  /** The folder is that of the dataset. */
  constructor(folder: string, fs: Fs) {
    this.#folder = folder;
    this.#fs = fs;
  }

  path(segment: SealedSegment): string {
    return `${this.#folder}/${segmentFile(segment)}`;
  }

  remote(): undefined {
    return undefined;
  }

  async read(segment: SealedSegment, range?: ByteRange): Promise<Uint8Array> {
    if (range === undefined) return readWholeFile(this.#fs, this.path(segment));
    const file = await this.#fs.openFile(this.path(segment), 'read');
    try {
      return await file.read(range.start, range.end - range.start);
    } finally {
      await file.close();
    }
  }

  async readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    const file = await this.#fs.openFile(this.path(segment), 'read');
    try {
      const read = (offset: number, length: number) => file.read(offset, length);
      return await readSegmentHeaders({ length: await file.size(), read });
    } finally {
      await file.close();
    }
  }

  async write(segment: SealedSegment, parts: readonly Uint8Array[]): Promise<void> {
    await this.#write(segmentFile(segment), parts);
    for (const { buffer } of parts) discard(new Uint8Array(buffer));
  }

  async readList(list: SegmentList): Promise<ListContent> {
    return parseList(list, await readWholeFile(this.#fs, `${this.#folder}/${listFile(list)}`));
  }

  writeList(list: SegmentList, bytes: Uint8Array): Promise<void> {
    return this.#write(listFile(list), [bytes]);
  }

  openIndex(run: IndexRun): Promise<FsFile> {
    return this.#fs.openFile(`${this.#folder}/${indexFile(run)}`, 'read');
  }

  makeIndex(
    { id, segments, runs }: IndexInputs,
    make: MakeIndex,
    signal: AbortSignal,
  ): Promise<IndexShape> {
    const files: IndexFiles = {
      segments: segments.map(({ segment, first, last }) => ({
        path: this.path(segment),
        first,
        last,
      })),
      runs: runs.map((run) => `${this.#folder}/${indexFile(run)}`),
      target: `${this.#folder}/${indexFile({ id })}`,
    };
    return make(files, signal);
  }

  async remove(files: readonly string[]): Promise<readonly string[]> {
    for (const file of files) {
      await removeIfExists(this.#fs, `${this.#folder}/${file}`);
      await removeIfExists(this.#fs, `${this.#folder}/${file}${temporarySuffix}`);
    }
    return files;
  }

  async #write(file: string, parts: readonly Uint8Array[]): Promise<void> {
    const [subfolder = '', name = ''] = file.split('/');
    await this.#fs.makeFolder(`${this.#folder}/${subfolder}`);
    await writeFileAtomically(this.#fs, `${this.#folder}/${subfolder}`, name, parts);
  }
}

/** Returns the description of a segment that was just built, which must contain exactly the blocks of `headers`. */
export function describeBuilt(built: BuiltSegment, headers: readonly BlockHeader[]): SealedSegment {
  assert(built.hashes.length === headers.length, 'a merge keeps every block');
  assert(
    built.hashes.every((hash, i) => hash === headers[i]?.hash),
    'a merge keeps the order of blocks',
  );
  return describeSegment(built, headers);
}

/** Returns the description of a segment for the chain. The file name derives from slots and checksum. */
export function describeSegment(
  { byteLength, checksum, signatures }: Omit<BuiltSegment, 'parts' | 'hashes'>,
  headers: readonly BlockHeader[],
): SealedSegment {
  const [first, last] = [headers[0], headers.at(-1)];
  assert(first !== undefined && last !== undefined, 'a segment holds at least one block');
  const digits = (slot: number) => String(slot).padStart(12, '0');
  const name = checksum.toString(16).padStart(8, '0');
  let timestampMax: bigint | null = null;
  for (const { timestamp } of headers) {
    if (timestamp !== null && (timestampMax === null || timestamp > timestampMax)) {
      timestampMax = timestamp;
    }
  }
  return {
    id: `${digits(first.number)}-${digits(last.number)}-${name}${segmentSuffix}`,
    first: { number: first.number, hash: first.hash },
    last: { number: last.number, hash: last.hash },
    parentSlot: first.parentSlot,
    parentHash: first.parentHash,
    lastHeight: last.height,
    blockCount: headers.length,
    byteLength,
    timestampMax,
    ...(signatures === undefined ? {} : { signatures }),
  };
}
