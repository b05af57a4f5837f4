import { memberOf } from '@sluice/protocol/unknown-value';
import { type BlockRef, parseBlockRefs } from '../base/block-ref.ts';
import { SluiceError } from '../base/sluice-error.ts';

/**
 * The position of a consumer as plain JSON: the blocks that it has and that may still be replaced, in ascending order. After a fork these
 * blocks are compared with the service. With only the last block a stream can resume, but it cannot always roll back.
 */
export interface CursorState {
  readonly blocks: readonly BlockRef[];
  /** The first slot of the stream, as long as `blocks` has every block since then. */
  readonly from?: number;
}

/**
 * A storage for a cursor.
 *
 * With `save`, the stream saves the cursor of a batch when the consumer requests the next one. After a crash in between, the last batch
 * is delivered again. Without `save`, the consumer stores `batch.cursor` itself, in the same transaction as the rows of the batch, so
 * that both are stored or neither.
 */
export interface Cursor {
  load(): CursorState | null | undefined | Promise<CursorState | null | undefined>;
  save?(state: CursorState): void | Promise<void>;
}

/** Returns the cursor that a stored value contains. Throws `cursor-invalid` for any other value. */
export function parseCursorState(value: unknown): CursorState {
  const refs = parseBlockRefs(memberOf(value, 'blocks'));
  const from = memberOf(value, 'from');
  const isSlot = typeof from === 'number' && Number.isSafeInteger(from) && from >= 0;
  if (refs === undefined || refs.length === 0 || !(isSlot || from === undefined)) {
    const found = JSON.stringify(value)?.slice(0, 100) ?? 'nothing';
    throw new SluiceError('cursor-invalid', { detail: `found ${found}` });
  }
  return isSlot ? { blocks: refs, from } : { blocks: refs };
}
