import type { BlockRef } from './block-ref.ts';
import type { Cursor, CursorState } from './cursor.ts';
import type { Block, Query } from './query-types.ts';

/** Blocks that extend what the consumer holds, in ascending slots. */
export interface BlocksBatch<Q = Query> {
  readonly kind: 'blocks';
  readonly blocks: readonly Block<Q>[];
  /** The newest finalized block that the service named; blocks up to it cannot be replaced any more. */
  readonly finalizedHead: BlockRef | null;
  /** Where the consumer is once it has stored this batch. Plain JSON. */
  readonly cursor: CursorState;
}

/** The ledger forked: everything above `to` is void. What replaces it comes with the next batches. */
export interface RollbackBatch {
  readonly kind: 'rollback';
  /** The newest block that the consumer and the service both hold. */
  readonly to: BlockRef;
  readonly finalizedHead: BlockRef | null;
  readonly cursor: CursorState;
}

export type Batch<Q = Query> = BlocksBatch<Q> | RollbackBatch;

export interface StreamOptions {
  /** Where to go on: a place that stores it, or the state itself. `fromBlock` then counts only where there is none yet. */
  readonly cursor?: Cursor | CursorState | undefined;
  /** Ends the stream; the reason of the abort is thrown to the consumer at once. */
  readonly signal?: AbortSignal | undefined;
  /** Finalized blocks only: there are no rollbacks, and blocks come later. */
  readonly finalized?: boolean | undefined;
}

/** Batches for ever, or until `toBlock` is covered. Leaving the loop closes the connection. */
export interface BlockStream<Q = Query> extends AsyncIterableIterator<Batch<Q>> {
  [Symbol.asyncIterator](): BlockStream<Q>;
}
