/**
 * Plans the items of a query for one segment. Addresses become dictionary ids. An item is dropped if one of its filters matches
 * nothing in the segment. The transactions to scan are those that every filter with a posting list allows. The plan is plain
 * data, which `sluice explain` prints.
 */

import { assert } from '@sluice/base/assert';
import { decodeBase58 } from '@sluice/base/base58';
import { TARGET_PROGRAM } from '@sluice/kernels/layout/selection';
import { type LogKind, RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { FilterName, RelationName } from '@sluice/protocol/request-table';
import { SetKeys } from '../query/address-set.ts';
import type { AddressList, Hex, Item, Selection } from '../query/query.ts';
import { intersect, unite } from '../segment/indexes/ascending-lists.ts';
import type { SegmentIndex } from '../segment/indexes/segment-index.ts';
import { LOG_KIND_CODES } from '../segment/layout/columns.ts';
import { type AddressTest, filterTest, relationBit } from './filter-table.ts';

export interface AddressFilter {
  readonly name: string;
  readonly test: AddressTest;
  /** Ascending. */
  readonly ids: Uint32Array;
}

export interface DataFilter {
  readonly name: string;
  readonly values: readonly Uint8Array[];
}

export interface PlannedItem {
  readonly array: RecordArray;
  /** The position of the item in the query's array. */
  readonly number: number;
  readonly addressFilters: readonly AddressFilter[];
  readonly dataFilters: readonly DataFilter[];
  readonly isCommitted: boolean | undefined;
  /** The wanted log kinds as bits by their stored code; 0 for all. */
  readonly logKinds: number;
  readonly relations: number;
  /** The filter with the shortest posting list, and the transactions to scan; undefined if all are scanned. */
  readonly driving: { readonly name: string; readonly transactions: Uint32Array } | undefined;
  /** The number of transactions that the planner expects to scan. */
  readonly estimate: number;
  /** Counted while the plan runs. */
  matchedRows: number;
}

export function planItems(
  selection: Selection,
  index: SegmentIndex,
  transactionCount: number,
): PlannedItem[] {
  const planned: PlannedItem[] = [];
  for (const array of RECORD_ARRAY_NAMES) {
    selection[array].forEach((item, number) => {
      const plan = planItem(array, number, item, { index, transactionCount });
      if (plan !== undefined) planned.push(plan);
    });
  }
  return planned;
}

interface PlannedSegment {
  readonly index: SegmentIndex;
  readonly transactionCount: number;
}

function planItem<A extends RecordArray>(
  array: A,
  number: number,
  item: Item<A>,
  segment: PlannedSegment,
): PlannedItem | undefined {
  const filters = resolveFilters(array, item.filters, segment.index);
  if (filters === undefined) return undefined;
  const relations = relationsOf(array, item);
  const driving = array === 'rewards' ? undefined : findCandidates(array, filters, segment.index);
  if (driving?.transactions.length === 0) return undefined;
  const estimate = driving?.transactions.length ?? segment.transactionCount;
  return { array, number, ...filters, relations, driving, estimate, matchedRows: 0 };
}

/** Returns the relations of an item as bits. */
export function relationsOf<A extends RecordArray>(
  array: A,
  { relations }: Pick<Item<A>, 'relations'>,
): number {
  return Object.entries<boolean>(relations).reduce(
    (bits, [name, isOn]) => (isOn ? bits | relationBit(array, name as RelationName<A>) : bits),
    0,
  );
}

type ResolvedFilters = Pick<
  PlannedItem,
  'addressFilters' | 'dataFilters' | 'isCommitted' | 'logKinds'
>;

/** Returns undefined if one of the filters matches nothing in the segment. */
function resolveFilters<A extends RecordArray>(
  array: A,
  filters: Item<A>['filters'],
  index: SegmentIndex,
): ResolvedFilters | undefined {
  const addressFilters: AddressFilter[] = [];
  const dataFilters: DataFilter[] = [];
  let isCommitted: boolean | undefined;
  let logKinds = 0;
  for (const [name, value] of Object.entries<FilterValue | undefined>(filters)) {
    if (value === undefined) continue;
    if (Array.isArray(value) && value.length === 0) return undefined;
    // The request table gives the value its type, and the filter table a test of the same type.
    const test = filterTest(array, name as FilterName<A>);
    switch (test.by) {
      case 'outcome':
        isCommitted = value as boolean;
        break;
      case 'logKind':
        for (const kind of value as readonly LogKind[]) logKinds |= 1 << LOG_KIND_CODES[kind];
        break;
      case 'data':
        dataFilters.push({ name, values: (value as readonly string[]).map(hexToBytes) });
        break;
      default: {
        const ids = findIds(value as AddressList, index);
        if (ids.length === 0) return undefined;
        addressFilters.push({ name, test, ids });
      }
    }
  }
  return { addressFilters, dataFilters, isCommitted, logKinds };
}

type FilterValue = AddressList | readonly Hex[] | readonly LogKind[] | boolean;

/** Returns the ids of the addresses that occur in the segment, ascending. */
function findIds(list: AddressList, index: SegmentIndex): Uint32Array {
  const { keys, sets } = keysOf(list);
  const ids: number[] = [];
  for (const key of keys) {
    const id = index.find(key);
    if (id !== undefined) ids.push(id);
  }
  const single = Uint32Array.from(ids).sort();
  return sets.length === 0 ? single : unite([single, ...sets.map((set) => index.findSet(set))]);
}

interface ListKeys {
  readonly keys: readonly Uint8Array[];
  readonly sets: readonly SetKeys[];
}

const knownKeys = new WeakMap<AddressList, ListKeys>();

/** Returns the addresses of a list as bytes, and its sets. They are decoded once for all segments of a query. */
function keysOf(list: AddressList): ListKeys {
  let known = knownKeys.get(list);
  if (known === undefined) {
    const keys = list.flatMap((value) => {
      if (typeof value !== 'string') return [];
      const key = decodeBase58(value);
      assert(key !== undefined, 'the parser has checked the addresses of a query');
      return [key];
    });
    const sets = list.flatMap((value) => (typeof value === 'string' ? [] : [new SetKeys(value)]));
    known = { keys, sets };
    knownKeys.set(list, known);
  }
  return known;
}

function hexToBytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.slice(2), 'hex'));
}

/**
 * Returns the transactions in which the item can match, or undefined if no filter has a posting list. Filters of instructions by
 * program, data and outcome use the lists of instruction classes, which are nearly exact.
 */
function findCandidates(
  array: RecordArray,
  { addressFilters, dataFilters, isCommitted }: ResolvedFilters,
  index: SegmentIndex,
): PlannedItem['driving'] {
  const lists: { name: string; transactions: Uint32Array }[] = [];
  const program = addressFilters.find(isByProgram);
  const hasClasses =
    array === 'instructions' &&
    (program !== undefined || dataFilters.length > 0 || isCommitted !== undefined);
  if (hasClasses) {
    const prefixes = dataFilters.map((filter) => filter.values);
    const programs = program?.ids;
    const classes = index.findClasses({ programs, prefixes, committed: isCommitted });
    const transactions = unite(classes.map((number) => index.classes.transactions(number)));
    const names = [program, ...dataFilters].flatMap((filter) => filter?.name ?? []);
    if (isCommitted !== undefined) names.push('isCommitted');
    lists.push({ name: names.join('+'), transactions });
  }
  for (const filter of addressFilters) {
    if (hasClasses && filter === program) continue;
    const { name, ids } = filter;
    lists.push({ name, transactions: unite(Array.from(ids, (id) => index.transactions(id))) });
  }
  lists.sort((a, b) => a.transactions.length - b.transactions.length);
  const [rarest, ...others] = lists;
  if (rarest === undefined) return undefined;
  const transactions = others.reduce(
    (common, other) => intersect(common, other.transactions),
    rarest.transactions,
  );
  return { name: rarest.name, transactions };
}

/** Returns the items limited to some transactions, given in ascending order. Rewards belong to none and are left out. */
export function limitItems(items: readonly PlannedItem[], only: Uint32Array): PlannedItem[] {
  return items.flatMap((item): PlannedItem[] => {
    if (item.array === 'rewards') return [];
    const transactions =
      item.driving === undefined ? only : intersect(item.driving.transactions, only);
    if (transactions.length === 0) return [];
    return [{ ...item, driving: { name: 'transactions', transactions } }];
  });
}

export function isByProgram({ test }: AddressFilter): boolean {
  return test.by === 'target' && test.target === TARGET_PROGRAM;
}
