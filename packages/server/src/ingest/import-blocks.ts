/**
 * Finalized blocks in bulk, from files, straight into segments.
 *
 *   lines ─► stored already? ─► prepared, several at once ─► linked ─► merged, block by block ─► a segment that is full is
 *            passed over        (threads)                             (a thread)              durable, then visible
 *
 * Safe to interrupt: what was committed stays, and running it again passes over what is there.
 */
import { CodedError, isCodedError } from '../base/errors.ts';
import { mapOrdered } from '../base/map-ordered.ts';
import type { Anchor } from '../chain/chain-snapshot.ts';
import { findBlockAtOrAfter } from '../chain/find-blocks.ts';
import { headLinkPoint, type ParentPoint } from '../chain/link-block.ts';
import type { NewBlock } from '../dataset/chain-writer.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { datasetLimits } from '../dataset/dataset-limits.ts';
import type { SegmentMerger } from '../dataset/merge/segment-merger.ts';
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
import type { Slot } from '../ledger/primitives.ts';
import { type BlockLine, lineExpected } from '../source/read-block-lines.ts';
import type { PrepareBlock } from './block-loader.ts';
import { linkHeader } from './chain-feeder.ts';
import { buildDraft, type PreparedBlock } from './prepared-block.ts';

export interface ImportModules {
  readonly dataset: Dataset;
  /** Gives drafts: they are merged at once. */
  readonly prepare: PrepareBlock;
  readonly merger: SegmentMerger;
  /** Called after each block that was taken or passed over, with the length of its JSON. */
  readonly onBlock?: (byteLength: number) => void;
  /** Called when nobody reads the bytes of a line any more. */
  readonly onLineRead?: (bytes: Uint8Array) => void;
  /** Called when nobody reads the bytes of a draft any more. */
  readonly onDraftRead?: (bytes: Uint8Array) => void;
}

export interface ImportProgress {
  readonly importedCount: number;
  /** Of blocks that were stored already. */
  readonly knownCount: number;
}

interface ReadBlock {
  readonly place: Place;
  /** Of the line's JSON. */
  readonly byteLength: number;
  /** Undefined for a block that is stored already. */
  readonly prepared: PreparedBlock | undefined;
}

type Place = Pick<BlockLine, 'path' | 'line'>;

const underWayCountMax = 16;

/** Imports until the lines end or the signal aborts. A line that does not link ends it, with what came before kept. */
export async function importBlocks(
  lines: AsyncIterable<BlockLine>,
  modules: ImportModules,
  signal: AbortSignal,
): Promise<ImportProgress> {
  const batch = new ImportBatch(modules);
  const read = async ({ path, line, slot, bytes }: BlockLine): Promise<ReadBlock> => {
    const place = { path, line };
    const byteLength = bytes.length;
    try {
      const isKnown = await isSurelyStored(modules.dataset, slot, bytes);
      const prepared = isKnown ? undefined : await modules.prepare(slot, bytes, 'node');
      return { place, byteLength, prepared };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      throw atPlace(place, error);
    } finally {
      modules.onLineRead?.(bytes);
    }
  };
  try {
    for await (const block of mapOrdered(lines, () => underWayCountMax, read)) {
      if (signal.aborted) break;
      await batch.add(block);
      modules.onBlock?.(block.byteLength);
    }
  } finally {
    await batch.flush();
  }
  return batch.progress;
}

/** Told by the block's hash in its JSON, as nodes write it. No means that it has to be read to be known. */
async function isSurelyStored(dataset: Dataset, slot: Slot, bytes: Uint8Array): Promise<boolean> {
  const stored = await findStored(dataset, slot);
  if (stored?.number !== slot) return false;
  const text = `"blockhash":"${stored.hash}"`;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(text, 0, 'latin1');
}

/** What the dataset holds at or after a slot that is not above its head. */
async function findStored(dataset: Dataset, slot: Slot): Promise<BlockRef | undefined> {
  const snapshot = dataset.snapshot();
  if (snapshot.head === null || slot > snapshot.head.number) return undefined;
  return findBlockAtOrAfter(snapshot, slot, (one) => dataset.readHeaders(one));
}

/** Linked blocks on their way into one segment. */
class ImportBatch {
  readonly #modules: ImportModules;
  #headers: BlockHeader[] = [];
  /** Those that cannot go into a segment yet. */
  #hot: NewBlock[] = [];
  #hotBytes = 0;
  #importedCount = 0;
  #knownCount = 0;

  constructor(modules: ImportModules) {
    this.#modules = modules;
  }

  get progress(): ImportProgress {
    return { importedCount: this.#importedCount, knownCount: this.#knownCount };
  }

  async add({ place, prepared }: ReadBlock): Promise<void> {
    const { dataset } = this.#modules;
    if (prepared !== undefined && dataset.snapshot().start === null) {
      await dataset.commit([{ kind: 'create', anchor: anchorBelow(prepared.header) }]);
    }
    if (prepared === undefined || (await this.#isKnown(prepared.header, place))) {
      this.#knownCount++;
      return;
    }
    const header = linkHeader(this.#parent(), prepared.header);
    if (isCodedError(header)) throw atPlace(place, header);
    const isFull = await this.#append(header, prepared);
    this.#modules.onDraftRead?.(prepared.bytes);
    this.#importedCount++;
    if (isFull || this.#headers.length >= datasetLimits.sealBlockCount) await this.flush();
  }

  /** Up to the head everything is settled: a block there is stored already, or does not belong into this dataset. */
  async #isKnown({ number: slot, hash }: BlockHeader, place: Place): Promise<boolean> {
    // Files that overlap bring a block again before it is stored.
    if (this.#headers.some((own) => own.number === slot && own.hash === hash)) return true;
    const { start, head } = this.#modules.dataset.snapshot();
    if (head === null || slot > head.number) return false;
    const stored = await findStored(this.#modules.dataset, slot);
    if (stored?.hash === hash) return true;
    const detail = { ...place, slot, hash, start, head: head.number };
    throw new CodedError('import-block-foreign', detail);
  }

  #parent(): ParentPoint {
    return this.#headers.at(-1) ?? headLinkPoint(this.#modules.dataset.snapshot());
  }

  /** Tells whether what was collected should be stored before more is added. */
  async #append(header: BlockHeader, prepared: PreparedBlock): Promise<boolean> {
    const { dataset, merger } = this.#modules;
    this.#headers.push(header);
    if (dataset.snapshot().hot.length > 0) {
      // Above blocks that were followed live there is no room for a segment until those are sealed.
      const bytes = buildDraft(prepared.bytes, header);
      this.#hot.push({ header, bytes });
      this.#hotBytes += bytes.byteLength;
      return this.#hotBytes >= datasetLimits.sealBytes;
    }
    try {
      const { byteLength, isFull } = await merger.appendDraft(prepared.bytes, header);
      return isFull || byteLength >= datasetLimits.sealBytes;
    } catch (error) {
      // The thread died, and what was collected with it.
      this.#headers = [];
      throw error;
    }
  }

  async flush(): Promise<void> {
    const headers = this.#headers;
    const hot = this.#hot;
    const last = headers.at(-1);
    if (last === undefined) return;
    this.#headers = [];
    this.#hot = [];
    this.#hotBytes = 0;
    const { dataset, merger } = this.#modules;
    if (hot.length > 0) {
      const block = { number: last.number, hash: last.hash };
      await dataset.commit([
        { kind: 'extend', blocks: hot },
        { kind: 'finalize', block },
      ]);
    } else {
      await dataset.appendSealed(await merger.finish(), headers);
    }
  }
}

function anchorBelow({ number, parentSlot, parentHash }: BlockHeader): Anchor | null {
  return number === 0 ? null : { number: parentSlot, hash: parentHash };
}

function atPlace({ path, line }: Place, cause: CodedError): CodedError {
  // What stands after the block of a line was taken for a part of it.
  const hint = cause.code === 'block-not-json' ? { expected: `${lineExpected}, no other key` } : {};
  return new CodedError(cause.code, { path, line, ...cause.detail, ...hint }, { cause });
}
