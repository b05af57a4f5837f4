import type { BlockRef } from '../base/block-ref.ts';
import type { Cursor, CursorState } from './cursor.ts';
import type { Block, Query } from './query-types.ts';

/** Blocks that extend the consumer's chain, in ascending slots. */
export interface BlocksBatch<Q = Query> {
  readonly kind: 'blocks';
  readonly blocks: readonly Block<Q>[];
  /** The newest finalized block that the service reported. Blocks up to it are never replaced. */
  readonly finalizedHead: BlockRef | null;
  /** The position after this batch is stored. Plain JSON. */
  readonly cursor: CursorState;
}

/** The ledger forked, and everything above `to` is invalid. The next batches have the replacement. */
export interface RollbackBatch {
  readonly kind: 'rollback';
  /** The newest block that both the consumer and the service have. */
  readonly to: BlockRef;
  readonly finalizedHead: BlockRef | null;
  readonly cursor: CursorState;
}

export type Batch<Q = Query> = BlocksBatch<Q> | RollbackBatch;

export interface StreamOptions {
  /** The position to resume from: a storage, or the cursor itself. `fromBlock` is used only while no cursor is stored. */
  readonly cursor?: Cursor | CursorState | undefined;
  /** Aborting ends the stream and throws the reason to the consumer immediately. */
  readonly signal?: AbortSignal | undefined;
  /** Whether only finalized blocks are streamed: without rollbacks, but later. */
  readonly finalized?: boolean | undefined;
  /** Whether each response ends with a record of what it covered and why it ended. It is passed to `onEvent`. The service must support it. */
  readonly closing?: boolean | undefined;
}

/** Yields batches endlessly or up to `toBlock`. Leaving the loop closes the connection. */
export interface BlockStream<Q = Query> extends AsyncIterableIterator<Batch<Q>> {
  [Symbol.asyncIterator](): BlockStream<Q>;
}
