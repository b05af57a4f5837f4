/** The sealed segments of a dataset: immutable files that are named after their content. */
import { assert } from '@sluice/base/assert';
import { discard } from '@sluice/base/memory/discard';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import { readSegmentHeaders } from '../segment/read/open-segment.ts';
import {
  type Fs,
  readWholeFile,
  removeIfExists,
  temporarySuffix,
  writeFileAtomically,
} from '../storage/fs.ts';
import { listIfExists, segmentSuffix } from './dataset-files.ts';
import type { BuiltSegment } from './merge/built-segment.ts';
import type { SegmentFiles } from './segment-files.ts';

export class SegmentStore implements SegmentFiles {
  readonly #fs: Fs;
  readonly #folder: string;
  /** Segments that are being written, or whose commit is not durable yet. */
  readonly #uncommitted = new Set<string>();

  constructor(folder: string, fs: Fs) {
    this.#folder = folder;
    this.#fs = fs;
  }

  path(segment: SealedSegment): string {
    return `${this.#folder}/${segment.id}`;
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

  /**
   * Writes a segment durably and takes ownership of its buffers. It must contain exactly the blocks of `headers`. The
   * caller then commits it.
   */
  async write(built: BuiltSegment, headers: readonly BlockHeader[]): Promise<SealedSegment> {
    const segment = describeBuilt(built, headers);
    this.#uncommitted.add(segment.id);
    try {
      await this.#fs.makeFolder(this.#folder);
      await writeFileAtomically(this.#fs, this.#folder, segment.id, built.parts);
    } catch (error) {
      this.settle(segment);
      throw error;
    }
    for (const { buffer } of built.parts) discard(new Uint8Array(buffer));
    return segment;
  }

  /** Ends the protection of a new segment after its commit has succeeded or failed. */
  settle(segment: SealedSegment): void {
    this.#uncommitted.delete(segment.id);
  }

  /** Removes unused segments, which trims and crashes between a file and its commit leave. Other files stay. */
  async collect(needed: ReadonlySet<string>): Promise<void> {
    for (const name of await listIfExists(this.#folder, this.#fs)) {
      const id = name.endsWith(temporarySuffix) ? name.slice(0, -temporarySuffix.length) : name;
      const isOurs = id !== name || name.endsWith(segmentSuffix);
      if (isOurs && !needed.has(name) && !this.#uncommitted.has(id))
        await removeIfExists(this.#fs, `${this.#folder}/${name}`);
    }
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
