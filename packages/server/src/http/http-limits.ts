/** What a client may cost. `docs/http.md` lists the same numbers. */
export interface HttpLimits {
  /** Past these a connection is closed unanswered; ten thousand followers and their neighbours fit. */
  readonly connectionCountMax: number;
  readonly streamCountMax: number;
  /** Lookups that run at once. More of them would only wait for the engine's threads. */
  readonly lookupCountMax: number;
  /** Bytes that wait for slow readers, over all streams; past it no new stream is let in. */
  readonly unsentBytesMax: number;
  /**
   * Bytes of the bodies that are being read and of the queries of open streams; past it no new one is let in. What is made of a
   * body takes two to three times its bytes, and ten thousand followers have some 6 kB each.
   */
  readonly queryBytesMax: number;
  readonly headersMsMax: number;
  readonly requestMsMax: number;
  readonly keepAliveMs: number;
  /** How often the two limits above are looked at. */
  readonly timeoutCheckMs: number;
  readonly headerBytesMax: number;
  /** A reader that takes no byte for so long is cut. */
  readonly stallMsMax: number;
  readonly stallCheckMs: number;
  /** In the dialect `solana`, whose clients ask again at once, an empty answer is held back. */
  readonly emptyHoldMs: number;
  /** From the signal to end to the end of the last connection. */
  readonly closeMsMax: number;
  /** Before that: not ready, and serving on, for balancers that need a while to notice. */
  readonly closeGraceMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connectionCountMax: 12_500,
  streamCountMax: 11_000,
  lookupCountMax: 64,
  unsentBytesMax: 256 * 1024 * 1024,
  queryBytesMax: 64 * 1024 * 1024,
  headersMsMax: 5_000,
  requestMsMax: 10_000,
  keepAliveMs: 15_000,
  timeoutCheckMs: 1_000,
  headerBytesMax: 16 * 1024,
  stallMsMax: 15_000,
  stallCheckMs: 500,
  emptyHoldMs: 1_000,
  closeMsMax: 5_000,
  closeGraceMs: 0,
};
