/** How long and how wide a stream may be. `docs/http.md` lists the same numbers. */
export interface StreamLimits {
  /** A reader at the head is usually one block early: holding it saves a round trip a block. */
  readonly waitMsMax: number;
  /** A followed response ends after this, so that balancers and deployments can count on it. */
  readonly followMsMax: number;
  /**
   * The same in the dialect `solana`. Its clients learn the finalized head from the headers of the next response, and read some
   * responses whole before they use them.
   */
  readonly solanaFollowMsMax: number;
  /** Nothing new for so long: the reader had better ask again, perhaps elsewhere. */
  readonly quietMsMax: number;
  /** Blocks were covered and no line went out for so long: a header-only line says how far we are. */
  readonly markMs: number;
  /** A scan takes a newer state after this, so that it holds neither files nor memory of an old one. */
  readonly snapshotMsMax: number;
  /** Waiters are woken so many at a time: all 5,000 in one turn held the loop for 303 ms, in slices 21 ms. */
  readonly wakeSliceCount: number;
  /** Deadlines of waiters are looked at this often; a timer for each waiter would cost more than the waiting. */
  readonly tickMs: number;
  /** A waiter costs a socket. Past this many, a 503 now beats a timeout later. */
  readonly waiterCountMax: number;
  /**
   * So many slots behind the head a reader shares evaluations with all others that ask the same. Also with its first blocks:
   * after a restart thousands come back at once, and those who wait to be let in fall behind meanwhile.
   */
  readonly sharedSlotCountMax: number;
  /** Lines kept for readers that come a moment later. */
  readonly sharedBytesMax: number;
}

export const STREAM_LIMITS: StreamLimits = {
  waitMsMax: 5_000,
  followMsMax: 300_000,
  solanaFollowMsMax: 10_000,
  quietMsMax: 30_000,
  markMs: 5_000,
  snapshotMsMax: 2_000,
  wakeSliceCount: 64,
  tickMs: 100,
  waiterCountMax: 12_000,
  sharedSlotCountMax: 256,
  sharedBytesMax: 16 * 1024 * 1024,
};
