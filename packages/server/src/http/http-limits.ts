/** The limits of the public listener. `docs/http.md` lists the same numbers. */
export interface HttpLimits {
  /** Further connections are closed without a response. Allows ten thousand followers and other clients. */
  readonly connectionCountMax: number;
  readonly streamCountMax: number;
  /** Lookups that run at once. More of them would only wait for the engine's threads. */
  readonly lookupCountMax: number;
  /** Those of one client, which is a key or, without keys, an address, so that one client does not take all slots. */
  readonly clientLookupCountMax: number;
  /** Bytes that wait for slow clients, over all streams. New streams are rejected above it. */
  readonly unsentBytesMax: number;
  /**
   * Bytes of the bodies that are being read and of the queries of open streams. New ones are rejected above it. A parsed
   * query takes two to three times the bytes of its body, and ten thousand followers have about 6 kB each.
   */
  readonly queryBytesMax: number;
  readonly headersMsMax: number;
  readonly requestMsMax: number;
  readonly keepAliveMs: number;
  /** The interval at which the time limits above are checked. */
  readonly timeoutCheckMs: number;
  readonly headerBytesMax: number;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMsMax: number;
  readonly stallCheckMs: number;
  /** Delays empty responses in the dialect `solana`, because its clients repeat the request immediately. */
  readonly emptyHoldMs: number;
  /** The time from the stop signal until remaining connections are destroyed. */
  readonly closeMsMax: number;
  /** The time before that in which the service is not ready but still serves, until load balancers have noticed. */
  readonly closeGraceMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connectionCountMax: 12_500,
  streamCountMax: 11_000,
  lookupCountMax: 64,
  clientLookupCountMax: 16,
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
