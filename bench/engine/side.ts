import type { Query } from '@sluice/server/dist/query/query.js';

/** One of the two that are compared. */
export interface Side {
  /** Makes the whole answer and throws it away. */
  discard(query: Query): Promise<void>;
  /** The answer's lines, in pieces. */
  answer(query: Query): AsyncIterable<Uint8Array | string>;
  close(): Promise<void>;
}
