/**
 * The options of a ledger's content. `parseContentOptions` checks the options of a caller (`ContentInput`) and takes the others from the
 * profile.
 */
import { checkChoice, checkOption, type Range } from '../chain/chain-options.ts';
import { ERAS, type Era } from './eras.ts';
import type { Cause, Machine } from './machine/machine.ts';
import type { SimulatedReward } from './simulated-block.ts';

export type Profile = 'demo' | '2025' | 'busy';

/** Additions to blocks that tests need: rare calls, failures and rewards. */
export interface Oddities {
  /** The share of transactions that fail in a rare way. */
  readonly rareRate: number;
  /** Called within an instruction of an application. */
  readonly act: (vm: Machine, program: number) => void;
  readonly fail: (vm: Machine, program: number, cause: Cause) => void;
  readonly rewards: readonly Omit<SimulatedReward, 'pubkey'>[];
}

export interface ContentInput {
  /** Default 1. The same seed and options give the same blocks on every machine. */
  readonly seed?: number | undefined;
  /** Default `demo`. */
  readonly profile?: Profile | undefined;
  /** Default: `2025` for the profile of that name, otherwise `2026`. */
  readonly era?: Era | undefined;
  /** Mean number of non-vote transactions. Default: the profile's. */
  readonly transactionsPerBlock?: number | undefined;
  /** Default true: the number of the profile. False means none, and a number is the mean. */
  readonly votes?: boolean | number | undefined;
  /** Share of the non-vote transactions that fail. Default 0.25. */
  readonly failureRate?: number | undefined;
  /** Share of the non-vote transactions in the format of version 1. Default 0; needs the era `2025` or `2026`. */
  readonly version1Rate?: number | undefined;
  /** Default 432,000. The first 300 slots of an epoch pay its rewards. */
  readonly slotsPerEpoch?: number | undefined;
  /** Staking and voting rewards in each of those blocks. Default: the profile's. */
  readonly epochRewardsPerBlock?: number | undefined;
  /** Default none. Makes rare cases frequent, for tests of programs that read blocks. */
  readonly oddities?: Oddities | undefined;
}

/** The options with all defaults. */
export type ContentOptions = {
  readonly [Name in keyof Omit<ContentInput, 'votes' | 'oddities'>]-?: NonNullable<
    ContentInput[Name]
  >;
} & {
  /** The mean number; 0 for none. */
  readonly votesPerBlock: number;
  readonly oddities: Oddities | null;
};

interface ProfileRow {
  readonly era: Era;
  readonly transactionsPerBlock: number;
  readonly votesPerBlock: number;
  readonly epochRewardsPerBlock: number;
}

export const PROFILES: Readonly<Record<Profile, ProfileRow>> = {
  demo: { era: '2026', transactionsPerBlock: 8, votesPerBlock: 3, epochRewardsPerBlock: 40 },
  '2025': {
    era: '2025',
    transactionsPerBlock: 389,
    votesPerBlock: 900,
    epochRewardsPerBlock: 4000,
  },
  busy: { era: '2026', transactionsPerBlock: 976, votesPerBlock: 1000, epochRewardsPerBlock: 4000 },
};

/** A block has at most this many transactions, like a block of the real ledger. */
export const TRANSACTION_COUNT_MAX = 4000;

export function parseContentOptions(input: ContentInput = {}): ContentOptions {
  const profile = input.profile ?? 'demo';
  checkChoice('profile', profile, Object.keys(PROFILES));
  const row = PROFILES[profile];
  const era = input.era ?? row.era;
  checkChoice('era', era, ERAS);
  const votes = input.votes ?? true;
  const votesPerBlock = typeof votes === 'number' ? votes : votes ? row.votesPerBlock : 0;
  const options: ContentOptions = {
    seed: input.seed ?? 1,
    profile,
    era,
    transactionsPerBlock: input.transactionsPerBlock ?? row.transactionsPerBlock,
    votesPerBlock,
    failureRate: input.failureRate ?? 0.25,
    version1Rate: input.version1Rate ?? 0,
    slotsPerEpoch: input.slotsPerEpoch ?? 432_000,
    epochRewardsPerBlock: input.epochRewardsPerBlock ?? row.epochRewardsPerBlock,
    oddities: input.oddities ?? null,
  };
  check(options);
  return options;
}

const integer = (min: number, max: number): Range => ({ min, max, integer: true });
const number = (max: number): Range => ({ min: 0, max, integer: false });

function check(options: ContentOptions): void {
  checkOption('seed', options.seed, integer(0, Number.MAX_SAFE_INTEGER));
  checkOption('transactionsPerBlock', options.transactionsPerBlock, number(TRANSACTION_COUNT_MAX));
  checkOption('votes', options.votesPerBlock, number(TRANSACTION_COUNT_MAX));
  checkOption('failureRate', options.failureRate, number(1));
  const isModern = options.era === '2025' || options.era === '2026';
  checkOption('version1Rate', options.version1Rate, number(isModern ? 1 : 0));
  checkOption('slotsPerEpoch', options.slotsPerEpoch, integer(1, Number.MAX_SAFE_INTEGER));
  checkOption('epochRewardsPerBlock', options.epochRewardsPerBlock, integer(0, 100_000));
}
