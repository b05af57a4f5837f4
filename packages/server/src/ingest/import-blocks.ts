/**
 * Finalized blocks in bulk, from files, straight into segments. Safe to interrupt: what was committed stays, and running
 * it again passes over what is there.
 */
import { CodedError, isCodedError } from '../base/errors.ts';
import { mapOrdered } from '../base/map-ordered.ts';
import type { Anchor } from '../chain/chain-snapshot.ts';
import { findBlockAtOrAfter } from '../chain/find-blocks.ts';
import { headLinkPoint, type ParentPoint } from '../chain/link-block.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { datasetLimits } from '../dataset/dataset-limits.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { BlockLine } from '../source/read-block-lines.ts';
import type { PrepareBlock } from './block-loader.ts';
import { linkBlock } from './chain-feeder.ts';
import type { PreparedBlock } from './prepared-block.ts';

export interface ImportModules {
  readonly dataset: Dataset;
  readonly prepare: PrepareBlock;
  /** Called after each block that was taken or passed over, with the length of its JSON. */
  readonly onBlock?: (byteLength: number) => void;
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
  readonly prepared: PreparedBlock;
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
  const prepare = async ({ path, line, slot, bytes }: BlockLine): Promise<ReadBlock> => {
    const place = { path, line };
    const byteLength = bytes.length;
    try {
      return { place, byteLength, prepared: await modules.prepare(slot, bytes) };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      throw atPlace(place, error);
    }
  };
  try {
    for await (const block of mapOrdered(lines, () => underWayCountMax, prepare)) {
      if (signal.aborted) break;
      await batch.add(block);
      modules.onBlock?.(block.byteLength);
    }
  } finally {
    await batch.flush();
  }
  return batch.progress;
}

class ImportBatch {
  readonly #modules: ImportModules;
  #blocks: PreparedBlock[] = [];
  #bytes = 0;
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
    if (dataset.snapshot().start === null) {
      await dataset.commit([{ kind: 'create', anchor: anchorBelow(prepared.header) }]);
    }
    if (await this.#isKnown(prepared.header, place)) {
      this.#knownCount++;
      return;
    }
    const linked = linkBlock(this.#parent(), prepared);
    if (isCodedError(linked)) throw atPlace(place, linked);
    this.#blocks.push(linked);
    this.#bytes += linked.bytes.byteLength;
    this.#importedCount++;
    const { sealBlockCount, sealBytes } = datasetLimits;
    if (this.#blocks.length >= sealBlockCount || this.#bytes >= sealBytes) await this.flush();
  }

  /** Up to the head everything is settled: a block there is stored already, or does not belong into this dataset. */
  async #isKnown({ number: slot, hash }: BlockHeader, place: Place): Promise<boolean> {
    const { dataset } = this.#modules;
    const snapshot = dataset.snapshot();
    if (snapshot.head === null || slot > snapshot.head.number) return false;
    const stored = await findBlockAtOrAfter(snapshot, slot, (one) => dataset.readHeaders(one));
    if (stored?.hash === hash) return true;
    const { start, head } = snapshot;
    throw new CodedError('import-block-foreign', {
      ...place,
      slot,
      hash,
      start,
      head: head.number,
    });
  }

  #parent(): ParentPoint {
    return this.#blocks.at(-1)?.header ?? headLinkPoint(this.#modules.dataset.snapshot());
  }

  async flush(): Promise<void> {
    const blocks = this.#blocks;
    const last = blocks.at(-1)?.header;
    if (last === undefined) return;
    this.#blocks = [];
    this.#bytes = 0;
    const { dataset } = this.#modules;
    if (dataset.snapshot().hot.length > 0) {
      // Above blocks that were followed live there is no room for a segment until those are sealed.
      const block = { number: last.number, hash: last.hash };
      await dataset.commit([
        { kind: 'extend', blocks },
        { kind: 'finalize', block },
      ]);
      return;
    }
    const payloads = blocks.map(({ bytes }) => bytes);
    await dataset.appendSealed(
      payloads,
      blocks.map(({ header }) => header),
    );
  }
}

function anchorBelow({ number, parentSlot, parentHash }: BlockHeader): Anchor | null {
  return number === 0 ? null : { number: parentSlot, hash: parentHash };
}

function atPlace({ path, line }: Place, cause: CodedError): CodedError {
  return new CodedError(cause.code, { path, line, ...cause.detail }, { cause });
}
