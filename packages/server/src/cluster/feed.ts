/**
 * The log of a dataset's changes that several machines share. Each message is one group of commits. A message can be read only after it
 * is durable on a quorum of servers.
 */
export interface Feed {
  /** The largest message in bytes. */
  readonly messageBytesMax: number;
  /** Whether only small messages should be published. These seal blocks, so that old messages can be removed. */
  readonly isNearlyFull: boolean;
  /** Returns the sequence of the newest message; 0 for an empty feed. */
  readLastSequence(): Promise<number>;
  /**
   * Appends a message if the newest one has the expected sequence, and returns the new sequence. Throws `feed-fenced` if another writer
   * has appended meanwhile, `feed-full`, or `feed-unreachable`, in which case the message may have been stored.
   */
  publish(bytes: Uint8Array, expectedSequence: number): Promise<number>;
  /**
   * Yields messages in order from a sequence on, and waits for new ones, until the signal aborts. Ends early if the connection fails.
   * Throws `feed-gap` if the first message was removed.
   */
  read(firstSequence: number, signal: AbortSignal): AsyncIterable<FeedMessage>;
  purgeBelow(sequence: number): Promise<void>;
  /** Resolves when this holder has the lease; to undefined if the signal aborted first. */
  acquireLease(holder: string, signal: AbortSignal): Promise<Lease | undefined>;
  close(): Promise<void>;
}

export interface FeedMessage {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/**
 * The right to try to write. It only avoids that two writers disturb each other; the expected sequence of `publish` protects the data.
 */
export interface Lease {
  /** Aborts when the lease is lost or could not be renewed in time. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}
