/**
 * The levels of the values at the end of a path of lists, structures and optional fields. A definition level says how much
 * of the path exists; a repetition level says which list continues. A null has levels too.
 */
import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import type { ColumnData } from '../arrow-type.ts';
import { intsOf, isValid } from '../ipc-reader.ts';
import type { Leaf } from './file-schema.ts';

export interface LeveledRows {
  /** The column of the values. */
  readonly column: ColumnData;
  /** The row of each value in the column, or -1 if it does not exist. */
  readonly rows: Int32Array;
  readonly definitions: Uint8Array;
  readonly repetitions: Uint8Array;
}

/** Follows the path of a leaf from rows of the table to the values. */
export function followPath(
  leaf: Leaf,
  column: ColumnData,
  start: number,
  end: number,
): LeveledRows {
  const rows = new Int32Array(end - start);
  for (let i = 0; i < rows.length; i++) rows[i] = start + i;
  const noLevels = new Uint8Array(rows.length);
  let at: LeveledRows = { column, rows, definitions: noLevels, repetitions: noLevels.slice() };
  let depth = 0;
  for (const [i, { type, isNullable }] of leaf.path.entries()) {
    if (isNullable) markNulls(at);
    if (type.kind === 'list') at = enterLists(at, ++depth);
    else if (type.kind === 'struct') {
      const child = at.column.children[type.fields.indexOf(elementAt(leaf.path, i + 1))];
      assert(child !== undefined, 'a structure has the fields of its type');
      at = { ...at, column: child };
    }
  }
  return at;
}

function markNulls({ column, rows, definitions }: LeveledRows): void {
  const [valid] = column.buffers;
  const hasNulls = column.nullCount > 0;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] ?? -1;
    if (row < 0) continue;
    if (hasNulls && !isValid(valid, row)) rows[i] = -1;
    else definitions[i] = (definitions[i] ?? 0) + 1;
  }
}

/** Replaces each list by its items. An empty or missing list becomes one null item. */
function enterLists({ column, rows, definitions, repetitions }: LeveledRows, depth: number) {
  const starts = intsOf(column.buffers[1]);
  let count = 0;
  for (let i = 0; i < rows.length; i++) count += Math.max(1, lengthAt(starts, rows[i] ?? -1));
  const next = {
    column: elementAt(column.children, 0),
    rows: new Int32Array(count),
    definitions: new Uint8Array(count),
    repetitions: new Uint8Array(count),
  };
  let at = 0;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] ?? -1;
    const length = lengthAt(starts, row);
    const definition = definitions[i] ?? 0;
    next.repetitions[at] = repetitions[i] ?? 0;
    if (length === 0) {
      next.rows[at] = -1;
      next.definitions[at++] = definition;
      continue;
    }
    next.definitions.fill(definition + 1, at, at + length);
    next.repetitions.fill(depth, at + 1, at + length);
    const first = starts[row] ?? 0;
    for (let item = 0; item < length; item++) next.rows[at++] = first + item;
  }
  return next;
}

function lengthAt(starts: Int32Array, row: number): number {
  return row < 0 ? 0 : (starts[row + 1] ?? 0) - (starts[row] ?? 0);
}
