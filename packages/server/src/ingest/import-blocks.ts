/**
 * Finalized blocks in bulk, from files, straight into segments. Safe to interrupt: what was committed stays, and running
 * it again passes over what is there.
 */
import { CodedError, isCodedError } from '../base/errors.ts';
import { mapOrdered } from '../base/map-ordered.ts';
import type { Anchor } from '../chain/chain-snapshot.ts';
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
  /** Called after each block that was taken or passed over. */
  readonly onBlock?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly importedCount: number;
  /** Of blocks that were stored already. */
  readonly knownCount: number;
}

interface ReadBlock {
  readonly line: number;
  readonly prepared: PreparedBlock;
}

const underWayCountMax = 16;

/** Imports until the lines end or the signal aborts. A line that does not link ends it, with what came before kept. */
export async function importBlocks(
  lines: AsyncIterable<BlockLine>,
  modules: ImportModules,
  signal: AbortSignal,
): Promise<ImportProgress> {
  const batch = new ImportBatch(modules);
  const prepare = async ({ line, slot, bytes }: BlockLine): Promise<ReadBlock> => {
    try {
      return { line, prepared: await modules.prepare(slot, bytes) };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      throw atLine(line, error);
    }
  };
  try {
    for await (const block of mapOrdered(lines, () => underWayCountMax, prepare)) {
      if (signal.aborted) break;
      await batch.add(block);
      modules.onBlock?.(batch.progress);
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

  async add({ line, prepared }: ReadBlock): Promise<void> {
    const { dataset } = this.#modules;
    if (dataset.snapshot().start === null) {
      await dataset.commit([{ kind: 'create', anchor: anchorBelow(prepared.header) }]);
    }
    if (this.#isKnown(prepared.header)) {
      this.#knownCount++;
      return;
    }
    const linked = linkBlock(this.#parent(), prepared);
    if (isCodedError(linked)) throw atLine(line, linked);
    this.#blocks.push(linked);
    this.#bytes += linked.bytes.byteLength;
    this.#importedCount++;
    const { sealBlockCount, sealBytes } = datasetLimits;
    if (this.#blocks.length >= sealBlockCount || this.#bytes >= sealBytes) await this.flush();
  }

  /** Blocks below the head are settled; the one at its slot must be it. */
  #isKnown({ number, hash }: BlockHeader): boolean {
    const { head } = this.#modules.dataset.snapshot();
    if (head === null || number > head.number) return false;
    return number < head.number || hash === head.hash;
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

function atLine(line: number, cause: CodedError): CodedError {
  return new CodedError(cause.code, { line, ...cause.detail }, { cause });
}
