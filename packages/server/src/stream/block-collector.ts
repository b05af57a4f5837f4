import type { EvaluatedBlocks } from './block-evaluator.ts';
import { LinePiece } from './line-piece.ts';

/** Lines of consecutive blocks are joined up to this size, because a piece is compressed once and written once per response. */
export const batchBytesMax = 1 << 18;

/** Consecutive blocks whose lines are joined. */
interface Batch {
  readonly last: EvaluatedBlocks;
  readonly pieces: readonly LinePiece[];
}

/** Collects the lines of consecutive blocks in memory that many responses can share. */
export class BlockCollector {
  readonly #collected: EvaluatedBlocks[] = [];
  #batch: Batch | undefined;
  #byteLength = 0;

  /** The length of all lines. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** Takes the piece over. It is released as soon as its lines are copied. */
  add(blocks: EvaluatedBlocks): void {
    const piece = blocks.piece === null ? [] : [blocks.piece];
    this.#byteLength += blocks.piece?.byteLength ?? 0;
    const pieces = [...(this.#batch?.pieces ?? []), ...piece];
    const isTooLong = pieces.length > 1 && totalLength(pieces) > batchBytesMax;
    if (isTooLong) this.#endBatch();
    this.#batch = { last: blocks, pieces: isTooLong ? piece : pieces };
  }

  /** Returns all blocks. Nothing can be added afterwards. */
  finish(): readonly EvaluatedBlocks[] {
    this.#endBatch();
    return this.#collected;
  }

  /** Releases pieces whose lines are not copied yet. */
  discard(): void {
    for (const piece of this.#batch?.pieces ?? []) piece.release();
    this.#batch = undefined;
  }

  #endBatch(): void {
    if (this.#batch === undefined) return;
    const { last, pieces } = this.#batch;
    this.#batch = undefined;
    this.#collected.push({ ...last, piece: pieces.length === 0 ? null : LinePiece.keep(pieces) });
  }
}

function totalLength(pieces: readonly LinePiece[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
}
