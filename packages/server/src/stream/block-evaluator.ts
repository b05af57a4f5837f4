/** The interface between streams and engine: evaluates a query over the blocks of one snapshot into pieces of whole lines. */

import type { BlockRef } from '@sluice/ledger/block';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { MayHave } from '../chain/segment-lists.ts';
import type { TextForm } from '../engine/threads/engine-messages.ts';
import type { Selection } from '../query/query.ts';
import type { LinePiece } from './line-piece.ts';

export interface EvaluationJob {
  readonly selection: Selection;
  /** The caller holds a lease on it until the evaluation ends. */
  readonly snapshot: ChainSnapshot;
  /** The slots to cover, both inclusive, between the start and the head of the snapshot. All of them may be skipped slots. */
  readonly first: number;
  readonly last: number;
  /** Whether these blocks are at the head. They are evaluated before history, because many streams wait for them. */
  readonly isUrgent: boolean;
  readonly form: TextForm;
  /** Stops the evaluation. */
  readonly signal: AbortSignal;
  /** If given, only sealed segments for which it returns true are evaluated. */
  readonly mayHave?: MayHave;
}

/** The result for a run of consecutive blocks. */
export interface EvaluatedBlocks {
  /** The lines of the run; `null` if no block of it has one. */
  readonly piece: LinePiece | null;
  readonly lastCovered: BlockRef;
  /** Whether the last line of the piece is the line of the last covered block. */
  readonly endsWithLine: boolean;
  /** The header-only line of the last covered block, which marks progress or the position to resume from. */
  headerLine(): LinePiece;
}

export interface BlockEvaluator {
  /** Evaluates all blocks of the slots in ascending order, in runs of at least one block. */
  evaluate(job: EvaluationJob): AsyncIterable<EvaluatedBlocks>;
}
