import { systemClock } from '@sluice/base/clock';
import type { Block } from '../../../ledger/src/block.ts';
import { type ContentInput, parseContentOptions } from '../content/content-options.ts';
import { BlockGenerator } from '../content/generate-block.ts';
import { expectedBlock } from '../content/testing/expected-block.ts';
import { createSimulatedLedger } from '../start-simulated-node.ts';

export interface SimulatedRange {
  readonly content?: ContentInput;
  readonly skipRate?: number;
  readonly firstSlot?: number;
  readonly blockCount: number;
}

/** Returns linked blocks of the final chain of a simulated ledger as records. */
export function simulatedBlocks(range: SimulatedRange): Block[] {
  const { content, skipRate = 0.05, firstSlot = 1_000, blockCount } = range;
  const chainOptions = { seed: 1, startSlot: firstSlot, skipRate };
  const { chain } = createSimulatedLedger(
    { chain: chainOptions, paused: true },
    { clock: systemClock },
  );
  const generator = new BlockGenerator(parseContentOptions({ votes: false, ...content }));
  const blocks: Block[] = [];
  for (let slot = firstSlot; blocks.length < blockCount; slot++) {
    slot = chain.nextBlock(slot);
    const chainBlock = chain.blockAt(slot);
    if (chainBlock !== undefined)
      blocks.push(expectedBlock(generator.generate(chainBlock), { votes: 'drop' }));
  }
  return blocks;
}
