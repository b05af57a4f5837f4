import type { BlockRef } from '../base/block-ref.ts';
import type { Batch } from '../stream/stream-types.ts';

/** The store of a consumer. It throws if a batch would make it inconsistent. */
export class HeldBlocks {
  readonly blocks: BlockRef[] = [];
  rollbackCount = 0;
  blockCount = 0;

  take(batch: Batch): void {
    if (batch.kind === 'rollback') {
      this.rollbackCount++;
      const kept = this.blocks.filter(({ number }) => number <= batch.to.number);
      const last = kept.at(-1);
      if (last?.number === batch.to.number && last.hash !== batch.to.hash) {
        throw new Error(`rolled back to ${batch.to.number}, which is held with another hash`);
      }
      if (kept.length === this.blocks.length) throw new Error('a rollback of nothing');
      this.blocks.length = kept.length;
      return;
    }
    for (const { header } of batch.blocks) {
      const last = this.blocks.at(-1);
      if (last !== undefined && header.number <= last.number) {
        throw new Error(`block ${header.number} came after ${last.number}`);
      }
      this.blocks.push({ number: header.number, hash: header.hash });
      this.blockCount++;
    }
  }
}
