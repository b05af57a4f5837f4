import type { Query } from '@sluice/server/dist/query/query.js';

/** One of the two that are compared. */
export interface Side {
  /** Makes the bytes of the whole answer and throws them away. Returns the milliseconds that joining lines took. */
  discard(query: Query): Promise<number>;
  /** The answer's lines, in pieces. */
  answer(query: Query): AsyncIterable<Uint8Array | string>;
  close(): Promise<void>;
}
