import { expect } from 'vitest';
import type { Batch, Block } from '../../packages/client/src/client.ts';

interface HeldBlock {
  readonly number: number;
  readonly hash: string;
  /** The records as text. */
  readonly text: string;
}

/** The blocks that a consumer has stored. It fails if a block is duplicated or out of order, or if a rollback names an unknown block. */
export class HeldChain {
  blocks: HeldBlock[] = [];
  batchCount = 0;
  rollbackCount = 0;
  /** The largest number of stored blocks that one rollback removed. */
  depthMax = 0;

  take(batch: Batch): void {
    this.batchCount++;
    if (batch.kind === 'blocks') {
      for (const block of batch.blocks) this.#append(block);
      return;
    }
    const kept = this.blocks.filter(({ number }) => number <= batch.to.number);
    // The common block is a block of the consumer, or below all of its blocks.
    const same = kept.at(-1)?.number === batch.to.number ? kept.at(-1)?.hash : batch.to.hash;
    expect(same).toBe(batch.to.hash);
    this.rollbackCount++;
    this.depthMax = Math.max(this.depthMax, this.blocks.length - kept.length);
    this.blocks = kept;
  }

  /** Removes blocks that a restarted consumer had not committed with its cursor. */
  cutTo(slot: number): void {
    this.blocks = this.blocks.filter(({ number }) => number <= slot);
  }

  #append({ header, ...records }: Block): void {
    const { number, hash } = header;
    expect(number).toBeGreaterThan(this.blocks.at(-1)?.number ?? -1);
    this.blocks.push({ number, hash, text: toText(records) });
  }

  /** Blocks with records. Other blocks only mark the end of a response. */
  get matches(): readonly HeldBlock[] {
    return this.blocks.filter(({ text }) => text.includes('[{'));
  }
}

function toText(records: object): string {
  return JSON.stringify(records, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
}
