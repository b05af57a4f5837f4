import type { Clock } from '@sluice/base/clock';
import { SimulatedChain } from './chain/chain.ts';
import { CHAIN_OPTIONS, type ChainOptions, checkOption } from './chain/chain-options.ts';
import { SimulatedTime } from './chain/simulated-time.ts';
import type { RenderBlock } from './node/rendered-blocks.ts';

export interface LedgerOptions {
  readonly chain?: Partial<ChainOptions>;
  /** Milliseconds of the ledger per millisecond of the clock; default 1. */
  readonly speed?: number;
  /** Whether the time starts paused. Then only `time.advance` changes it. Default false. */
  readonly paused?: boolean;
  /** The slot at which the clock starts, so that the ledger continues an earlier run. Default: the start slot of the chain. */
  readonly resumeAtSlot?: number;
}

/** One chain and its time. Several nodes can serve the same ledger. */
export interface SimulatedLedger {
  readonly chain: SimulatedChain;
  readonly time: SimulatedTime;
  readonly render: RenderBlock;
  readonly clock: Clock;
}

export const SPEED_RANGE = { min: 0.001, max: 10_000, integer: false };

export function createLedger(
  options: LedgerOptions,
  dependencies: { clock: Clock; render: RenderBlock },
): SimulatedLedger {
  const chain = new SimulatedChain(options.chain ?? {});
  const speed = options.speed ?? 1;
  const resumeAtSlot = options.resumeAtSlot ?? chain.options.startSlot;
  checkOption('speed', speed, SPEED_RANGE);
  checkOption('resumeAtSlot', resumeAtSlot, CHAIN_OPTIONS.startSlot);
  // The start slot is confirmed at the start of the ledger, because the clock starts just before the next slot.
  const startMs = chain.processedAtMs(resumeAtSlot + 1) - chain.options.slotMs / 100;
  const time = new SimulatedTime({ startMs, speed, paused: options.paused ?? false }, dependencies);
  return { chain, time, render: dependencies.render, clock: dependencies.clock };
}
