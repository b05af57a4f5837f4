import { checkOption, type Range } from './option-range.ts';

/** The options of a simulated chain. Two chains with equal options are equal in every block. */
export interface ChainOptions {
  readonly seed: number;
  /** The slot being produced when the clock starts. Everything below it exists already, down to slot 0. */
  readonly startSlot: number;
  /** Unix seconds of the start slot. */
  readonly startSeconds: number;
  readonly slotMs: number;
  /** Share of slots without a block. */
  readonly skipRate: number;
  /** Forks per slot. */
  readonly forkRate: number;
  /** The most blocks one fork replaces. */
  readonly forkDepthMax: number;
  /** How many slots the finalized head is behind the confirmed one, at least. */
  readonly finalityDistance: number;
  /** How many slots below the head a node still serves. */
  readonly historySlots: number;
}

/** A year's first second: fixed, so that a seed alone names the same bytes on every day. */
const startSecondsDefault = Date.UTC(2026, 0, 1) / 1000;

export const CHAIN_DEFAULTS: ChainOptions = {
  seed: 1,
  startSlot: 1_000,
  startSeconds: startSecondsDefault,
  slotMs: 400,
  skipRate: 0.001,
  forkRate: 0.0001,
  forkDepthMax: 32,
  finalityDistance: 31,
  historySlots: 432_000,
};

// The largest slot times the longest slot-ms stays an exact integer, and so does every time derived from it.
export const CHAIN_RANGES: Readonly<Record<keyof ChainOptions, Range>> = {
  seed: { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true },
  startSlot: { min: 0, max: 50_000_000_000, integer: true },
  startSeconds: { min: 0, max: 253_402_300_799, integer: true },
  slotMs: { min: 1, max: 60_000, integer: true },
  // Runs of up to four slots need a block between them.
  skipRate: { min: 0, max: 0.5, integer: false },
  forkRate: { min: 0, max: 1, integer: false },
  forkDepthMax: { min: 1, max: 1_000, integer: true },
  finalityDistance: { min: 0, max: 100_000, integer: true },
  historySlots: { min: 1, max: 50_000_000_000, integer: true },
};

export function parseChainOptions(input: Partial<ChainOptions>): ChainOptions {
  const options: Record<keyof ChainOptions, number> = { ...CHAIN_DEFAULTS };
  for (const name of Object.keys(CHAIN_RANGES) as (keyof ChainOptions)[]) {
    const value = input[name];
    if (value === undefined) continue;
    checkOption(name, value, CHAIN_RANGES[name]);
    options[name] = value;
  }
  return options;
}
