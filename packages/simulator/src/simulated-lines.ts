import { assert } from '@sluice/base/assert';
import type { SimulatedLedger } from './simulated-ledger.ts';

/** Yields blocks of the final chain from a slot on, as lines of a block file. The bytes are those of a getBlock response. */
export function* simulatedLines(
  { chain, render }: SimulatedLedger,
  range: { firstSlot: number; blockCount: number },
): Generator<Uint8Array> {
  let slot = range.firstSlot;
  for (let count = 0; count < range.blockCount; count++) {
    slot = chain.nextBlock(slot);
    const block = chain.blockAt(slot);
    assert(block !== undefined, 'nextBlock names a block');
    const { json } = render(block, { transactionDetails: 'full', rewards: true });
    yield Buffer.concat([Buffer.from(`{"slot":${slot},"block":`), json, Buffer.from('}\n')]);
    slot += 1;
  }
}
