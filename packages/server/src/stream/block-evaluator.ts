/** The seam between the streams and the engine: a query over blocks of one state, answered in pieces of whole lines. */
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { TextForm } from '../engine/engine-messages.ts';
import type { BlockRef } from '../ledger/block.ts';
import type { Selection } from '../query/query.ts';
import type { LinePiece } from './line-piece.ts';

export interface EvaluationJob {
  readonly selection: Selection;
  /** Leased by the caller until the evaluation ends. */
  readonly snapshot: ChainSnapshot;
  /** The slots to cover, both inclusive, inside what the snapshot covers. They may hold no block at all. */
  readonly first: number;
  readonly last: number;
  /** Whether many wait for these few blocks: they are not kept behind those who read history. */
  readonly isUrgent: boolean;
  readonly form: TextForm;
  /** Nobody wants the rest. */
  readonly signal: AbortSignal;
}

/** A run of neighbouring blocks, wholly evaluated. */
export interface EvaluatedBlocks {
  /** The lines of the run; `null` if no block of it has one. */
  readonly piece: LinePiece | null;
  readonly lastCovered: BlockRef;
  /** Whether the last line of the piece is that of the last covered block. */
  readonly endsWithLine: boolean;
  /** The header-only line of the last covered block: a progress mark, or the place to resume from. */
  headerLine(): LinePiece;
}

export interface BlockEvaluator {
  /** Covers the blocks of the slots in ascending order, every one of them, in runs of at least one. */
  evaluate(job: EvaluationJob): AsyncIterable<EvaluatedBlocks>;
}
