/** What nodes recorded at different times; a simulated block is printed as a block of its era would be. */
export type Era = 'genesis' | '2020' | '2021' | '2025' | '2026';

export const ERAS: readonly Era[] = ['genesis', '2020', '2021', '2025', '2026'];

export interface EraRules {
  /** Whether there are statuses at all. */
  readonly hasMeta: boolean;
  readonly hasHeight: boolean;
  readonly hasTime: boolean;
  /** Whether the calls that instructions made were recorded. */
  readonly hasInner: boolean;
  /** Whether some transactions have no log. */
  readonly losesLogs: boolean;
  /** `version`, `loadedAddresses`, `computeUnitsConsumed`, heights of calls, owners and programs of token balances. */
  readonly isModern: boolean;
  /** A top-level instruction's `stackHeight` as printed; undefined where the key is absent. */
  readonly topStackHeight: '1' | 'null' | undefined;
  readonly hasVersionKey: boolean;
  readonly hasCostUnits: boolean;
  /** Whether accounts still paid rent. */
  readonly hasRent: boolean;
}

const TODAY: EraRules = {
  hasMeta: true,
  hasHeight: true,
  hasTime: true,
  hasInner: true,
  losesLogs: false,
  isModern: true,
  topStackHeight: '1',
  hasVersionKey: true,
  hasCostUnits: true,
  hasRent: false,
};

const OLD: EraRules = { ...TODAY, isModern: false, hasCostUnits: false };

export const ERA_RULES: Readonly<Record<Era, EraRules>> = {
  // What was never recorded is absent; the rest comes as a node of today prints old blocks.
  genesis: { ...OLD, hasMeta: false, hasHeight: false, hasTime: false, topStackHeight: 'null' },
  '2020': { ...OLD, hasInner: false, hasHeight: false, losesLogs: true, topStackHeight: 'null' },
  '2021': { ...OLD, topStackHeight: undefined, hasVersionKey: false, hasRent: true },
  '2025': { ...TODAY, topStackHeight: 'null', hasCostUnits: false },
  '2026': TODAY,
};
