/** The closing record of a response: what it covered, and why it ended. A client requests it with the parameter `closing`. */

/**
 *   complete   the range, or the dataset if it follows no source, is covered
 *   fork       the last covered block is no longer on the chain
 *   time       the response had lasted as long as responses may
 *   quiet      there was no new block for a long time
 *   closing    the service, or the client's key, was shut down
 *   trimmed    the next blocks were removed by the retention policy
 *   fault      the service failed; its log says why
 */
export const STREAM_ENDS = [
  'complete',
  'fork',
  'time',
  'quiet',
  'closing',
  'trimmed',
  'fault',
] as const;
export type StreamEnd = (typeof STREAM_ENDS)[number];

export interface ClosingRecord {
  readonly reason: StreamEnd;
  readonly fromBlock: number;
  /** The last covered slot. Every selected record of the slots from `fromBlock` to it was sent. */
  readonly toBlock: number;
  /** The last covered block; null if all covered slots were skipped. */
  readonly lastBlock: { readonly number: number; readonly hash: string } | null;
}

/** The only member of the last line, and the key in the metadata of the last record batch. */
export const CLOSING_KEY = 'closing';
