/** The limits of streams. `docs/http.md` lists the same numbers. */
export interface StreamLimits {
  /** A client at the head is usually one block early. Waiting for the block saves a round trip. */
  readonly waitMsMax: number;
  /** The longest time that a response follows the head, which load balancers and deployments rely on. */
  readonly followMsMax: number;
  /**
   * The longest time of any response in the dialect `solana`, also of one that catches up. Its clients learn the finalized head from the
   * headers of the next response, read some responses to the end before they use them, and some give up a response after 40 s.
   */
  readonly solanaResponseMsMax: number;
  /** A response ends after this time without a new block, so that the client can try another replica. */
  readonly quietMsMax: number;
  /** A header-only line reports the progress after blocks without lines were covered for this time. */
  readonly markMs: number;
  /** A scan takes a newer snapshot after this time, so that it does not keep files and memory of an old one. */
  readonly snapshotMsMax: number;
  /** The number of waiters that are woken in one turn of the event loop: 5,000 at once blocked it for 303 ms, slices for 21 ms. */
  readonly wakeSliceCount: number;
  /** How often the deadlines of waiters are checked. A timer for each waiter would cost more than the waiting. */
  readonly tickMs: number;
  /** The limit of waiting streams. Beyond it a request gets 503 at once instead of a timeout later. */
  readonly waiterCountMax: number;
  /**
   * A stream up to this many slots behind the head shares evaluations with equal queries. This includes the first blocks of a request:
   * after a restart thousands of clients return at once and fall behind while they wait.
   */
  readonly sharedSlotCountMax: number;
  /** The size of the lines that are cached for streams that need them a moment later. */
  readonly sharedBytesMax: number;
}

export const STREAM_LIMITS: StreamLimits = {
  waitMsMax: 5_000,
  followMsMax: 300_000,
  solanaResponseMsMax: 10_000,
  quietMsMax: 30_000,
  markMs: 5_000,
  snapshotMsMax: 2_000,
  wakeSliceCount: 64,
  tickMs: 100,
  waiterCountMax: 12_000,
  sharedSlotCountMax: 256,
  sharedBytesMax: 16 * 1024 * 1024,
};
