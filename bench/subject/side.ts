import type { Query } from '@sluice/server/dist/query/query.js';

/** One of the two compared engines. */
export interface Side {
  /** Generates all bytes of the response and discards them. Returns the milliseconds spent on joining lines. */
  discard(query: Query): Promise<number>;
  /** Returns the lines of the response in chunks. */
  answer(query: Query): AsyncIterable<Uint8Array | string>;
  close(): Promise<void>;
}
