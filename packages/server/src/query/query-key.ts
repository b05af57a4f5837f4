import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { Item, Selection } from './query.ts';

/**
 * The canonical text of what is asked of a block: equal for equal selections, whatever their range, so that readers who
 * ask the same share the work.
 */
export function queryKey(selection: Selection): string {
  const { dialect, includeAllBlocks, fields } = selection;
  const arrays = RECORD_ARRAY_NAMES.map((array) => `"${array}":[${itemKeys(selection, array)}]`);
  return `{"dialect":"${dialect}","all":${includeAllBlocks},"fields":${JSON.stringify(fields)},${arrays.join()}}`;
}

function itemKeys<A extends RecordArray>(selection: Selection, array: A): string {
  return (selection[array] as readonly Item<A>[]).map(itemKey).join();
}

/** The canonical text of one item. Its keys stand in the order of the table, which is how items are built. */
export function itemKey<A extends RecordArray>(item: Item<A>): string {
  const relations = Object.entries(item.relations).filter(([, wanted]) => wanted === true);
  return JSON.stringify([item.filters, relations.map(([name]) => name)]);
}
