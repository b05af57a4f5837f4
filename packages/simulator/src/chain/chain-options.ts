import { CodedError } from '@sluice/base/errors';
import { keysOf, mapKeys } from '@sluice/protocol/typed-keys';

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly integer: boolean;
}

interface OptionRow extends Range {
  readonly default: number;
}

const integer = (preset: number, min: number, max: number): OptionRow => {
  return { default: preset, min, max, integer: true };
};
const share = (preset: number, max: number): OptionRow => {
  return { default: preset, min: 0, max, integer: false };
};
// With these limits, the largest slot times the longest slot-ms is an exact integer, and so is every time derived from it.
const slotMax = 50_000_000_000;

/** The options of a simulated chain with their defaults. Two chains with equal options are equal in every block. */
export const CHAIN_OPTIONS = {
  seed: integer(1, 0, Number.MAX_SAFE_INTEGER),
  /** The slot that is produced when the clock starts. All slots below it already exist, down to slot 0. */
  startSlot: integer(1_000, 0, slotMax),
  /** Unix seconds of the start slot: a fixed date, so that the bytes of a ledger depend on the seed and not on today's date. */
  startSeconds: integer(Date.UTC(2026, 0, 1) / 1000, 0, 253_402_300_799),
  slotMs: integer(400, 1, 60_000),
  /** The share of slots without a block. At most four consecutive slots are skipped. */
  skipRate: share(0.001, 0.5),
  /** Forks per slot. */
  forkRate: share(0.0001, 1),
  /** The maximum number of blocks that one fork replaces. */
  forkDepthMax: integer(32, 1, 1_000),
  /** The minimum number of slots from the finalized head to the confirmed one. */
  finalityDistance: integer(31, 0, 100_000),
  /** The number of slots below the head that a node serves. */
  historySlots: integer(432_000, 1, slotMax),
};

export type ChainOptions = Readonly<Record<keyof typeof CHAIN_OPTIONS, number>>;

export function parseChainOptions(input: Partial<ChainOptions>): ChainOptions {
  return mapKeys(keysOf(CHAIN_OPTIONS), (name) => {
    const row = CHAIN_OPTIONS[name];
    const value = input[name] ?? row.default;
    checkOption(name, value, row);
    return value;
  });
}

/** Rejects a value that is not allowed. */
export function checkChoice(option: string, found: string, allowed: readonly string[]): void {
  if (allowed.includes(found)) return;
  throw new CodedError('simulator-option-invalid', { option, found, expected: allowed.join(', ') });
}

/** Rejects a value outside its range with the name of the option and the expected values. */
export function checkOption(option: string, found: number, { min, max, integer }: Range): void {
  const isNumber = integer ? Number.isSafeInteger(found) : Number.isFinite(found);
  if (isNumber && found >= min && found <= max) return;
  const expected = `${integer ? 'an integer' : 'a number'} from ${min} to ${max}`;
  throw new CodedError('simulator-option-invalid', { option, found, expected });
}
