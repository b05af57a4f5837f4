/** How large a query may be. A service may set others; it reports the ones it has. */
export interface QueryLimits {
  /** On the wire and decoded. */
  readonly bodyBytesMax: number;
  /** Nesting of objects and arrays, counted before anything is parsed. A legal query needs 4. */
  readonly depthMax: number;
  /** Items of all six arrays together. */
  readonly itemCountMax: number;
  readonly listValueCountMax: number;
  /** Values of all lists together, as sent. */
  readonly valueCountMax: number;
}

export const QUERY_LIMITS: QueryLimits = {
  bodyBytesMax: 1_048_576,
  depthMax: 16,
  itemCountMax: 100,
  listValueCountMax: 1_000,
  valueCountMax: 10_000,
};
