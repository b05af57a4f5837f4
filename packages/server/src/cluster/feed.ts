/**
 * The log of a dataset's changes that several machines share. Each message is one group of commits. A message is
 * durable, on a quorum of servers, before anybody can read it.
 */
export interface Feed {
  /** The largest message in bytes. */
  readonly messageBytesMax: number;
  /** Whether only small messages should be published, so that blocks can still be sealed and messages removed. */
  readonly isNearlyFull: boolean;
  /** Returns the sequence of the newest message, 0 if there was none. */
  readLastSequence(): Promise<number>;
  /**
   * Appends a message if the newest one has the expected sequence, and returns its own. Throws `feed-fenced` if another
   * writer has appended meanwhile, `feed-full`, or `feed-unreachable`, in which case the message may have been stored.
   */
  publish(bytes: Uint8Array, expectedSequence: number): Promise<number>;
  /**
   * Returns messages in order, beginning with a sequence, until the signal aborts. Waits for new ones. Ends early if the
   * connection fails, and throws `feed-gap` if the first message was removed.
   */
  read(firstSequence: number, signal: AbortSignal): AsyncIterable<FeedMessage>;
  /** Removes the messages below a sequence. */
  purgeBelow(sequence: number): Promise<void>;
  /** Becomes the only holder of the lease, and resolves; undefined if the signal aborted first. */
  acquireLease(holder: string, signal: AbortSignal): Promise<Lease | undefined>;
  close(): Promise<void>;
}

export interface FeedMessage {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/**
 * The right to try to write. It saves two writers from disturbing each other; only the expected sequence of `publish`
 * protects the data.
 */
export interface Lease {
  /** Aborts when the lease was lost, or could not be renewed in time. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}
