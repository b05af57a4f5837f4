/** A period in which nodes recorded the same data. A simulated block is printed like a block of its era. */
export type Era = 'genesis' | '2020' | '2021' | '2025' | '2026';

export const ERAS: readonly Era[] = ['genesis', '2020', '2021', '2025', '2026'];

const TODAY = {
  /** Whether transactions have a `meta`. */
  hasMeta: true,
  hasHeight: true,
  hasTime: true,
  /** Whether the calls that instructions made were recorded. */
  hasInner: true,
  /** Whether some transactions have no log. */
  losesLogs: false,
  /** Whether `version`, `loadedAddresses`, compute units, heights of calls, and owners of token balances were recorded. */
  isModern: true,
  /** A top-level instruction's `stackHeight` as printed; undefined where the key is absent. */
  topStackHeight: '1' as '1' | 'null' | undefined,
  hasVersionKey: true,
  hasCostUnits: true,
  /** Whether blocks of the era have rewards of the type `Rent`: the rent of accounts, paid to validators. */
  hasRent: false,
};

export type EraRules = Readonly<typeof TODAY>;

const OLD: EraRules = { ...TODAY, isModern: false, hasCostUnits: false };

export const ERA_RULES: Readonly<Record<Era, EraRules>> = {
  // Data that was never recorded is absent. Everything else is printed as a current node prints old blocks.
  genesis: { ...OLD, hasMeta: false, hasHeight: false, hasTime: false, topStackHeight: 'null' },
  '2020': { ...OLD, hasInner: false, hasHeight: false, losesLogs: true, topStackHeight: 'null' },
  '2021': { ...OLD, topStackHeight: undefined, hasVersionKey: false, hasRent: true },
  '2025': { ...TODAY, topStackHeight: 'null', hasCostUnits: false },
  '2026': TODAY,
};
