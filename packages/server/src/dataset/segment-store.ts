/** The sealed segments of a dataset: immutable files, named by what they hold. */
import { assert } from '../base/assert.ts';
import { discard } from '../base/discard.ts';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import type { BlockHeader } from '../ledger/block.ts';
import { readSegmentHeaders } from '../segment/open-segment.ts';
import {
  type Fs,
  readWholeFile,
  removeIfThere,
  temporarySuffix,
  writeFileAtomically,
} from '../storage/fs.ts';
import { listIfThere, segmentSuffix } from './dataset-files.ts';
import type { MadeSegment } from './made-segment.ts';

export class SegmentStore {
  readonly #fs: Fs;
  readonly #folder: string;
  /** Being written, or written and not named by a commit yet. */
  readonly #fresh = new Set<string>();

  constructor(folder: string, fs: Fs) {
    this.#folder = folder;
    this.#fs = fs;
  }

  path(segment: SealedSegment): string {
    return `${this.#folder}/${segment.id}`;
  }

  read(segment: SealedSegment): Promise<Uint8Array> {
    return readWholeFile(this.#fs, this.path(segment));
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

  /** Writes a segment that must hold exactly these blocks and is handed over. It is durable before anything names it. */
  async write(made: MadeSegment, headers: readonly BlockHeader[]): Promise<SealedSegment> {
    assert(made.hashes.length === headers.length, 'a merge keeps every block');
    assert(
      made.hashes.every((hash, i) => hash === headers[i]?.hash),
      'a merge keeps the order of blocks',
    );
    const segment = describeSegment(made, headers);
    this.#fresh.add(segment.id);
    await this.#fs.makeFolder(this.#folder);
    await writeFileAtomically(this.#fs, this.#folder, segment.id, made.parts);
    for (const { buffer } of made.parts) discard(new Uint8Array(buffer));
    return segment;
  }

  /** A commit names it now, or never will. */
  settle(segment: SealedSegment): void {
    this.#fresh.delete(segment.id);
  }

  /** Removes segments that nobody names: of trims, and what a crash left between a file and its commit. Other files stay. */
  async collect(needed: ReadonlySet<string>): Promise<void> {
    for (const name of await listIfThere(this.#folder, this.#fs)) {
      const id = name.endsWith(temporarySuffix) ? name.slice(0, -temporarySuffix.length) : name;
      const isOurs = id !== name || name.endsWith(segmentSuffix);
      if (isOurs && !needed.has(name) && !this.#fresh.has(id))
        await removeIfThere(this.#fs, `${this.#folder}/${name}`);
    }
  }
}

/** What a commit names a segment by; the name of its file follows from what it holds. */
export function describeSegment(
  { byteLength, checksum }: Pick<MadeSegment, 'byteLength' | 'checksum'>,
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
  };
}
