import type { Dialect } from './dialect.ts';

/** The limits of a query. A service may configure others and reports the ones in effect. */
export interface QueryLimits {
  /** Applies to the body as sent and to the decoded body. */
  readonly bodyBytesMax: number;
  /** The nesting of objects and arrays, checked before parsing. A valid query needs 4 levels. */
  readonly depthMax: number;
  /** Items of all six arrays together. */
  readonly itemCountMax: number;
  readonly listValueCountMax: number;
  /** The values of all lists together, as sent. */
  readonly valueCountMax: number;
}

/** Clients of the dialect `solana` send longer lists. The limit for the total number of values applies to them too. */
export function listValueCountMaxOf(dialect: Dialect, limits: QueryLimits): number {
  return dialect === 'solana' ? limits.valueCountMax : limits.listValueCountMax;
}

export const QUERY_LIMITS: QueryLimits = {
  bodyBytesMax: 1_048_576,
  depthMax: 16,
  itemCountMax: 100,
  listValueCountMax: 1_000,
  valueCountMax: 10_000,
};
