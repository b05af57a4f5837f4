/**
 * A query's items against one segment. Addresses become dictionary ids; an item whose address is not in the segment
 * cannot match and is dropped; of the others' address filters the rarest drives: only transactions on its posting list
 * are looked at. The plan is data: `sluice explain` prints it.
 */
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import { filterRows } from '@sluice/protocol/request-table';
import { assert } from '../base/assert.ts';
import { decodeBase58 } from '../base/base58.ts';
import type { AddressList, Hex, Selection } from '../query/query.ts';
import type { SegmentIndex } from '../segment/segment-index.ts';

export interface AddressFilter {
  readonly name: string;
  /** Ascending. */
  readonly ids: Uint32Array;
}

export interface DataFilter {
  readonly name: string;
  readonly values: readonly Uint8Array[];
}

export interface PlannedItem {
  readonly array: RecordArray;
  /** Its position among the query's items of that array. */
  readonly number: number;
  readonly addressFilters: readonly AddressFilter[];
  readonly dataFilters: readonly DataFilter[];
  readonly committed: boolean | undefined;
  /** Wanted log kinds as bits; 0 for all. */
  readonly logKinds: number;
  readonly relations: number;
  /** The filter whose postings were taken, and those transactions; undefined if all are looked at. */
  readonly driving: { readonly name: string; readonly transactions: Uint32Array } | undefined;
  /** How many transactions the planner expected to look at. */
  readonly estimate: number;
  /** Filled while running. */
  matchedRows: number;
}

// The numbers of kernels/assembly/shared/select.ts.
const RELATION_BITS: Readonly<Record<RecordArray, Readonly<Record<string, number>>>> = {
  transactions: { instructions: 8, balances: 2, tokenBalances: 4, logs: 128 },
  instructions: {
    transaction: 1,
    transactionBalances: 2,
    transactionTokenBalances: 4,
    transactionInstructions: 8,
    innerInstructions: 16,
    parentInstructions: 32,
    logs: 64,
  },
  logs: { instruction: 256, transaction: 1 },
  balances: { transaction: 1, transactionInstructions: 8 },
  tokenBalances: {
    transaction: 1,
    transactionInstructions: 8,
    transactionBalances: 2,
    transactionTokenBalances: 4,
  },
  rewards: {},
};

const LOG_KIND_BITS: Readonly<Record<string, number>> = { log: 1, data: 2, other: 4 };

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

interface AnyItem {
  readonly filters: Readonly<Record<string, readonly string[] | boolean | undefined>>;
  readonly relations: Readonly<Record<string, boolean>>;
}

function planItem(
  array: RecordArray,
  number: number,
  item: AnyItem,
  segment: PlannedSegment,
): PlannedItem | undefined {
  const filters = resolveFilters(array, item.filters, segment.index);
  if (filters === undefined) return undefined;
  const bits = RELATION_BITS[array];
  let relations = 0;
  for (const [name, isOn] of Object.entries(item.relations)) if (isOn) relations |= bits[name] ?? 0;
  const driving = array === 'rewards' ? undefined : findCandidates(array, filters, segment.index);
  if (driving?.transactions.length === 0) return undefined;
  const estimate = driving?.transactions.length ?? segment.transactionCount;
  return { array, number, ...filters, relations, driving, estimate, matchedRows: 0 };
}

type ResolvedFilters = Pick<
  PlannedItem,
  'addressFilters' | 'dataFilters' | 'committed' | 'logKinds'
>;

/** Undefined if one of the filters holds for nothing in the segment. */
function resolveFilters(
  array: RecordArray,
  filters: AnyItem['filters'],
  index: SegmentIndex,
): ResolvedFilters | undefined {
  const addressFilters: AddressFilter[] = [];
  const dataFilters: DataFilter[] = [];
  let committed: boolean | undefined;
  let logKinds = 0;
  for (const [name, value] of Object.entries(filters)) {
    if (value === undefined) continue;
    if (typeof value === 'boolean') {
      committed = value;
    } else if (addressFilterNames.get(array)?.has(name) === true) {
      const ids = keysOf(value as AddressList)
        .map((key) => index.find(key))
        .filter((id) => id !== undefined);
      if (ids.length === 0) return undefined;
      addressFilters.push({ name, ids: Uint32Array.from(ids).sort() });
    } else if (value.length === 0) {
      return undefined;
    } else if (array === 'logs') {
      logKinds = value.reduce((bits, kind) => bits | (LOG_KIND_BITS[kind] ?? 0), 0);
    } else {
      dataFilters.push({ name, values: (value as readonly Hex[]).map(hexToBytes) });
    }
  }
  return { addressFilters, dataFilters, committed, logKinds };
}

const addressFilterNames: ReadonlyMap<RecordArray, ReadonlySet<string>> = new Map(
  RECORD_ARRAY_NAMES.map((array) => {
    const rows = filterRows(array).filter(([, { value }]) => value === 'address');
    return [array, new Set<string>(rows.map(([name]) => name))];
  }),
);

const knownKeys = new WeakMap<AddressList, readonly Uint8Array[]>();

/** The bytes of a list's addresses, decoded once for all the segments a query goes through. */
function keysOf(list: AddressList): readonly Uint8Array[] {
  let keys = knownKeys.get(list);
  if (keys === undefined) {
    keys = list.map((text) => {
      const key = decodeBase58(text);
      assert(key !== undefined, 'a query holds only addresses that were checked');
      return key;
    });
    knownKeys.set(list, keys);
  }
  return keys;
}

function hexToBytes(hex: Hex): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.slice(2), 'hex'));
}

/**
 * The transactions in which the item can match: those in the lists of all its filters. Undefined where no filter has a list. Most
 * instruction filters name a program and a discriminator, whose classes are nearly the answer.
 */
function findCandidates(
  array: RecordArray,
  { addressFilters, dataFilters, committed }: ResolvedFilters,
  index: SegmentIndex,
): PlannedItem['driving'] {
  const lists: { name: string; transactions: Uint32Array }[] = [];
  const program = addressFilters.find(({ name }) => name === 'programId');
  const hasClasses =
    array === 'instructions' &&
    (program !== undefined || dataFilters.length > 0 || committed !== undefined);
  if (hasClasses) {
    const prefixes = dataFilters.map((filter) => filter.values);
    const classes = index.findClasses({ programs: program?.ids, prefixes, committed });
    const transactions = unite(classes.map((number) => index.classes.transactions(number)));
    const names = [program, ...dataFilters].flatMap((filter) => filter?.name ?? []);
    if (committed !== undefined) names.push('isCommitted');
    lists.push({ name: names.join('+'), transactions });
  }
  for (const { name, ids } of addressFilters) {
    if (hasClasses && name === 'programId') continue;
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

/** What both ascending lists have. */
function intersect(a: Uint32Array, b: Uint32Array): Uint32Array {
  const common = new Uint32Array(a.length);
  let [i, j, count] = [0, 0, 0];
  while (i < a.length && j < b.length) {
    const difference = (a[i] as number) - (b[j] as number);
    if (difference === 0) common[count++] = a[i] as number;
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return common.subarray(0, count);
}

/** Returns what any of the ascending lists has, ascending. May return one of the lists itself. */
export function unite(lists: readonly Uint32Array[]): Uint32Array {
  if (lists.length === 1) return lists[0] as Uint32Array;
  const all = new Uint32Array(lists.reduce((sum, list) => sum + list.length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  all.sort();
  let count = 0;
  for (let i = 0; i < all.length; i++) {
    if (count === 0 || all[i] !== all[count - 1]) all[count++] = all[i] as number;
  }
  return all.subarray(0, count);
}

/** The part of an ascending list that lies in [start, end), as positions in the list. */
export function sliceOf(list: Uint32Array, start: number, end: number): [from: number, to: number] {
  return [lowerBound(list, start), lowerBound(list, end)];
}

function lowerBound(list: Uint32Array, value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
