import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { ArrowOutput, Item, Selection } from './query.ts';

/**
 * Returns a canonical text of a selection: equal for equal selections regardless of their range, so that streams with
 * the same query share their evaluation.
 */
export function queryKey(selection: Selection): string {
  const { dialect, includeAllBlocks, fields, idlVersion, arrow } = selection;
  const idls = idlVersion === undefined ? '' : `"idls":${idlVersion},`;
  const form = arrow === undefined ? '' : `"arrow":${arrowKey(arrow)},`;
  const arrays = RECORD_ARRAY_NAMES.map((array) => `"${array}":[${itemKeys(selection, array)}]`);
  return `{${idls}${form}"dialect":"${dialect}","all":${includeAllBlocks},"fields":${JSON.stringify(fields)},${arrays.join()}}`;
}

function arrowKey({ table, addresses, decoded }: ArrowOutput): string {
  if (decoded === undefined) return JSON.stringify([table, addresses]);
  const { programId, name, isEvent, columns, mints } = decoded;
  return JSON.stringify([table, addresses, programId, name, isEvent, columns.accounts, mints]);
}

function itemKeys<A extends RecordArray>(selection: Selection, array: A): string {
  return (selection[array] as readonly Item<A>[]).map(itemKey).join();
}

/** Returns a canonical text of one item. Items are built with their keys in table order. */
export function itemKey<A extends RecordArray>(item: Item<A>): string {
  const relations = Object.entries(item.relations).filter(([, wanted]) => wanted === true);
  return JSON.stringify([item.filters, relations.map(([name]) => name)]);
}
