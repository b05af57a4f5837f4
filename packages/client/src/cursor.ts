import { memberOf } from '@sluice/protocol/unknown-value';
import { type BlockRef, parseBlockRefs } from './block-ref.ts';
import { SluiceError } from './sluice-error.ts';

/**
 * Where a consumer is, as plain JSON: the blocks it holds that may still be replaced, ascending, the last being the newest.
 * The blocks before the last are what a fork is compared with, so a cursor that keeps only the last block can resume but
 * cannot always roll back.
 */
export interface CursorState {
  readonly blocks: readonly BlockRef[];
  /** The slot where the stream began, as long as `blocks` holds every block that came since. */
  readonly from?: number;
}

/**
 * A place where a cursor is stored.
 *
 * With `save`, the stream saves the state of a batch when the consumer asks for the next one; after a crash in between
 * the last batch comes again. Without `save`, the consumer stores `batch.cursor` itself, in the transaction that stores
 * the rows of the batch, so that both are there or neither.
 */
export interface Cursor {
  load(): Promise<CursorState | null | undefined>;
  save?(state: CursorState): Promise<void>;
}

/** Returns the state that a stored value holds; refuses anything that is not one. */
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
