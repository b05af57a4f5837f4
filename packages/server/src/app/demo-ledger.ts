/**
 * The ledger of the demonstration: one seed, so that everyone sees the same blocks.
 *
 *   slot 0 ──────── mainnetFirstSlot, 1 February 2025 ──────── firstHeadSlot ──► grows
 *   └ ledger-beta   └ ledger-mainnet                           └ the head at the very first start
 */

import { assert } from '../base/assert.ts';
import { parseSlot, type Slot } from '../ledger/primitives.ts';
import type { SimulatedLedger } from '../simulator/simulated-ledger.ts';
import type { SimulatedLedgerOptions } from '../simulator/start-simulated-node.ts';

const slotMs = 400;
/** Enough to have something finalized to look at, little enough to be stored within seconds. */
const firstHeadSlot = 200;
const mainnetFirstSlot = 100;
const mainnetFirstSeconds = Date.UTC(2025, 1, 1) / 1000;

export interface DemoDataset {
  readonly name: string;
  readonly firstSlot: Slot;
}

export const DEMO_DATASETS: readonly DemoDataset[] = [
  { name: 'ledger-beta', firstSlot: slotOf(0) },
  { name: 'ledger-mainnet', firstSlot: slotOf(mainnetFirstSlot) },
];

/** Blocks of a day, skipped slots left out of account. */
export const demoBlocksPerDay = 86_400_000 / slotMs;

/** What a block of this ledger takes in a sealed segment: measured 7,932 bytes over 1,000 blocks of 8 transactions. */
export const demoBytesPerBlock = 8_000;

/** The ledger goes on from the slot it had reached: while the process is down its time stands still. */
export function demoLedgerOptions(resumeAtSlot: Slot | undefined): SimulatedLedgerOptions {
  const secondsBelow = ((firstHeadSlot - mainnetFirstSlot) * slotMs) / 1000;
  return {
    chain: {
      seed: 1,
      slotMs,
      startSlot: firstHeadSlot,
      startSeconds: mainnetFirstSeconds + secondsBelow,
    },
    content: { profile: 'demo' },
    ...(resumeAtSlot === undefined ? {} : { resumeAtSlot }),
  };
}

/** What a clock would show inside the ledger. */
export function demoUnixMs({ chain, time }: SimulatedLedger): number {
  const { startSeconds, startSlot } = chain.options;
  return startSeconds * 1000 + time.nowMs() - startSlot * slotMs;
}

function slotOf(value: number): Slot {
  const slot = parseSlot(value);
  assert(slot !== undefined, 'the slots of the demonstration are slots');
  return slot;
}
