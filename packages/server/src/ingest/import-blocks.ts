/**
 * Imports finalized blocks from files directly into segments.
 *
 *   lines ─► skip stored blocks ─► prepare in parallel ─► link ─► merge into a segment ─► full: durable, then visible
 *                                  (worker threads)               (worker thread)
 *
 * An import can be interrupted at any time: committed segments stay, and the next run skips their blocks.
 */
import { CodedError, isCodedError, knownDetail } from '@sluice/base/errors';
import { mapOrdered } from '@sluice/base/map-ordered';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import { type BlockLine, lineExpected } from '@sluice/source/files/read-block-lines';
import type { Anchor } from '../chain/chain-snapshot.ts';
import { findBlockAtOrAfter } from '../chain/find-blocks.ts';
import { headLinkPoint, type ParentPoint } from '../chain/link-block.ts';
import type { NewBlock } from '../dataset/chain-writer.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { datasetLimits } from '../dataset/dataset-limits.ts';
import type { SegmentMerger } from '../dataset/merge/segment-merger.ts';
import type { PrepareBlock } from './follow/block-loader.ts';
import { linkHeader } from './follow/chain-feeder.ts';
import { buildDraft, type PreparedBlock } from './prepare/prepared-block.ts';

export interface ImportDependencies {
  readonly dataset: Dataset;
  /** Returns drafts, because they are merged at once. */
  readonly prepare: PrepareBlock;
  readonly merger: SegmentMerger;
  /** Called after each imported or skipped block with the length of its JSON. */
  readonly onBlock?: (byteLength: number) => void;
  /** Called when the bytes of a line are no longer used. */
  readonly onLineRead?: (bytes: Uint8Array) => void;
  /** Called when the bytes of a draft are no longer used. */
  readonly onDraftRead?: (bytes: Uint8Array) => void;
}

export interface ImportProgress {
  readonly importedCount: number;
  readonly knownCount: number;
}

interface ReadBlock {
  readonly position: LinePosition;
  readonly byteLength: number;
  /** Undefined for a block that is already stored. */
  readonly prepared: PreparedBlock | undefined;
}

type LinePosition = Pick<BlockLine, 'path' | 'line'>;

/** Imported segments of large blocks are so large that they are not merged afterwards. The merger holds one of them in memory. */
const segmentBytes = datasetLimits.mergeBytes / 2;
const inProgressMax = 16;

/** Imports until the lines end or the signal aborts. Throws if a block does not link; blocks before it stay imported. */
export async function importBlocks(
  lines: AsyncIterable<BlockLine>,
  dependencies: ImportDependencies,
  signal: AbortSignal,
): Promise<ImportProgress> {
  const batch = new ImportBatch(dependencies);
  const read = async (block: BlockLine): Promise<ReadBlock> => {
    const { slot, bytes, format } = block;
    const position = positionOf(block);
    const byteLength = bytes.length;
    try {
      const isKnown = await isSurelyStored(dependencies.dataset, block);
      const prepared = isKnown ? undefined : await dependencies.prepare(slot, bytes, format);
      return { position, byteLength, prepared };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      throw addPosition(position, error);
    } finally {
      dependencies.onLineRead?.(bytes);
    }
  };
  try {
    for await (const block of mapOrdered(lines, () => inProgressMax, read)) {
      if (signal.aborted) break;
      await batch.add(block);
      dependencies.onBlock?.(block.byteLength);
    }
  } finally {
    await batch.flush();
  }
  return batch.progress;
}

/** Returns the file of a block, and its line if the file has lines. */
function positionOf({ path, line }: LinePosition): LinePosition {
  return line === undefined ? { path } : { path, line };
}

/**
 * Returns true if the block has the hash of the stored block. In JSON the hash is searched in the notation of nodes. After false the block
 * must be parsed to find out.
 */
async function isSurelyStored(
  dataset: Dataset,
  { slot, bytes, hash }: BlockLine,
): Promise<boolean> {
  const stored = await findStored(dataset, slot);
  if (stored?.number !== slot) return false;
  if (hash !== undefined) return hash === stored.hash;
  const text = `"blockhash":"${stored.hash}"`;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(text, 0, 'latin1');
}

/** Returns the stored block at or after a slot, if the slot is not above the head. */
export async function findStored(dataset: Dataset, slot: Slot): Promise<BlockRef | undefined> {
  const snapshot = dataset.snapshot();
  if (snapshot.head === null || slot > snapshot.head.number) return undefined;
  return findBlockAtOrAfter(snapshot, slot, dataset);
}

/** Collects linked blocks for one segment. */
class ImportBatch {
  readonly #dependencies: ImportDependencies;
  #headers: BlockHeader[] = [];
  /** The collected blocks, if they have to become hot blocks. Undefined if they go into a segment. */
  #hot: NewBlock[] | undefined;
  #hotBytes = 0;
  #importedCount = 0;
  #knownCount = 0;

  constructor(dependencies: ImportDependencies) {
    this.#dependencies = dependencies;
  }

  get progress(): ImportProgress {
    return { importedCount: this.#importedCount, knownCount: this.#knownCount };
  }

  async add({ position, prepared }: ReadBlock): Promise<void> {
    const { dataset } = this.#dependencies;
    if (prepared !== undefined && dataset.snapshot().start === null) {
      await dataset.commit([{ kind: 'create', anchor: anchorBelow(prepared.header) }]);
    }
    if (prepared === undefined || (await this.#isKnown(prepared.header, position))) {
      this.#knownCount++;
      return;
    }
    const header = linkHeader(this.#parent(), prepared.header);
    if (isCodedError(header)) throw addPosition(position, header);
    const isFull = await this.#append(header, prepared);
    this.#dependencies.onDraftRead?.(prepared.bytes);
    this.#importedCount++;
    if (isFull || this.#headers.length >= datasetLimits.sealBlockCount) await this.flush();
  }

  /** Returns whether the block is stored. Throws if it is not above the head and not stored: it is not of this chain. */
  async #isKnown({ number: slot, hash }: BlockHeader, position: LinePosition): Promise<boolean> {
    // Overlapping files contain a block again before it is stored.
    if (this.#headers.some((header) => header.hash === hash)) return true;
    const { start, head } = this.#dependencies.dataset.snapshot();
    if (head === null || slot > head.number) return false;
    const stored = await findStored(this.#dependencies.dataset, slot);
    if (stored?.hash === hash) return true;
    const detail = { ...position, slot, hash, start, head: head.number };
    throw new CodedError('import-block-foreign', detail);
  }

  #parent(): ParentPoint {
    return this.#headers.at(-1) ?? headLinkPoint(this.#dependencies.dataset.snapshot());
  }

  /** Returns whether the collected blocks should be stored before more are added. */
  async #append(header: BlockHeader, prepared: PreparedBlock): Promise<boolean> {
    const { dataset, merger } = this.#dependencies;
    // A segment cannot be appended above hot blocks. Blocks collected for them stay hot, even if the others are sealed meanwhile.
    if (this.#headers.length === 0 && dataset.snapshot().hot.length > 0) this.#hot = [];
    this.#headers.push(header);
    if (this.#hot !== undefined) {
      const bytes = buildDraft(prepared.bytes, header);
      this.#hot.push({ header, bytes });
      this.#hotBytes += bytes.byteLength;
      return this.#hotBytes >= datasetLimits.sealBytes;
    }
    try {
      const { byteLength, isFull } = await merger.appendDraft(prepared.bytes, header);
      return isFull || byteLength >= segmentBytes;
    } catch (error) {
      // The worker thread died, and the collected blocks are lost.
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
    this.#hot = undefined;
    this.#hotBytes = 0;
    const { dataset, merger } = this.#dependencies;
    if (hot !== undefined) {
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

function addPosition(position: LinePosition, cause: CodedError): CodedError {
  // Text after the block of a line is parsed as a part of the block.
  const hint = cause.code === 'block-not-json' ? { expected: `${lineExpected}, no other key` } : {};
  const detail = { ...position, ...cause.detail, ...hint };
  return new CodedError(cause.code, ...knownDetail(detail, { cause }));
}
