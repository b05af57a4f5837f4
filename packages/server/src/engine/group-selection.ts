/** Selecting the rows of one row group: fills the tables that the kernels of `select.ts` read, and runs them. */
import type { RecordArray } from '@sluice/protocol/field-table';
import { assert } from '../base/assert.ts';
import { DOMAINS } from '../segment/columns.ts';
import type { Segment } from '../segment/open-segment.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { GroupColumns } from './group-columns.ts';
import type { LoadedColumn, MadeColumn } from './make-column.ts';
import { type PlannedItem, sliceOf } from './plan-items.ts';

const WITH = {
  transaction: 1,
  balances: 2,
  tokenBalances: 4,
  instructions: 8,
  inner: 16,
  parents: 32,
  ownLogs: 64,
  logs: 128,
  ownInstruction: 256,
} as const;

/** The bit of each array in a transaction's mark; rewards belong to blocks and have none. */
export const MARK_BITS: Readonly<Record<RecordArray, number>> = {
  transactions: 1,
  instructions: 2,
  logs: 4,
  balances: 8,
  tokenBalances: 16,
  rewards: 0,
};

/** Filters of one item a kernel can tell apart: bits of 32, and no item has more. */
const itemBytes = 48;
/** Behind the item: the table of rows for logs, balances and token balances. */
const rowTableBytes = 32;
const filterBytes = 16;
/** The number of `select.ts`. */
const idListMax = 4;
const dataValueBytes = 48;

const rewardDomain = DOMAINS.indexOf('reward');

export interface SelectedGroup {
  /** The group's table, which the kernel is told before it works on it. */
  readonly table: number;
  readonly marks: number;
  /** By array: a byte a row, or 0 where the query can select none. */
  readonly flags: Readonly<Record<RecordArray, number>>;
}

/** Returns the arrays that the items can select rows of, matched or related. */
export function selectableArrays(items: readonly PlannedItem[]): ReadonlySet<RecordArray> {
  const arrays = new Set<RecordArray>();
  for (const { array, relations } of items) {
    arrays.add(array);
    if (relations & WITH.transaction) arrays.add('transactions');
    if (relations & WITH.balances) arrays.add('balances');
    if (relations & WITH.tokenBalances) arrays.add('tokenBalances');
    if (relations & (WITH.instructions | WITH.inner | WITH.parents | WITH.ownInstruction)) {
      arrays.add('instructions');
    }
    if (relations & (WITH.ownLogs | WITH.logs)) arrays.add('logs');
  }
  return arrays;
}

/** Whether the item can match in the group at all, by its candidates. */
export function isInGroup(item: PlannedItem, group: GroupColumns['group']): boolean {
  if (item.array === 'rewards') return (group.totals[rewardDomain] as number) > 0;
  if (item.driving === undefined) return true;
  const start = group.firstTransaction;
  const [from, to] = sliceOf(item.driving.transactions, start, start + group.transactionCount);
  return to > from;
}

/** Selects the rows of a run's items, row group after row group. */
export class GroupSelector {
  readonly #kernel: EngineKernel;
  readonly #tables: ReadonlyMap<PlannedItem, ItemTable>;
  #needs: GroupNeeds | undefined;

  constructor(kernel: EngineKernel, segment: Segment, items: readonly PlannedItem[]) {
    this.#kernel = kernel;
    this.#tables = new Map(items.map((item) => [item, new ItemTable(kernel, segment, item)]));
  }

  release(): void {
    for (const table of this.#tables.values()) table.release();
  }

  /** What is selected stays until the next group is. */
  select(columns: GroupColumns, items: readonly PlannedItem[]): SelectedGroup {
    // Most groups have the same items.
    if (this.#needs === undefined || !isSameList(this.#needs.items, items))
      this.#needs = needsOf(items);
    const needs = this.#needs;
    const { scratch } = columns;
    const table = scratch.reserve(groupTableBytes);
    const marks = scratch.reserveZeroed(columns.transactionCount);
    const flags = { ...noFlags };
    for (const array of needs.arrays)
      flags[array] = scratch.reserveZeroed(rowCount(columns, array));
    const ranks = scratch.reserve(columns.pages.ranks.byteLength);
    this.#kernel.ints.set(columns.pages.ranks, ranks / 4);
    const addresses = groupTable(columns, needs, { flags, marks });
    this.#kernel.ints.set(addresses, table / 4);
    this.#kernel.exports.setGroup(table, this.#kernel.positionScratch);
    for (const item of items)
      item.matchedRows += (this.#tables.get(item) as ItemTable).run(columns, flags, ranks);
    return { table, marks, flags };
  }
}

const groupTableBytes = 128;

const noFlags: Record<RecordArray, number> = {
  transactions: 0,
  instructions: 0,
  logs: 0,
  balances: 0,
  tokenBalances: 0,
  rewards: 0,
};

function isSameList(a: readonly PlannedItem[], b: readonly PlannedItem[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

/** What items need of a group's columns, beside the filters' own. */
interface GroupNeeds {
  readonly items: readonly PlannedItem[];
  readonly arrays: ReadonlySet<RecordArray>;
  readonly counts: boolean;
  readonly depths: boolean;
  readonly programs: boolean;
  readonly accounts: boolean;
  readonly data: boolean;
  readonly committed: boolean;
  readonly logRows: boolean;
}

function needsOf(items: readonly PlannedItem[]): GroupNeeds {
  const ofInstructions = items.filter(({ array }) => array === 'instructions');
  const hasFilter = (test: (name: string) => boolean) =>
    ofInstructions.some(({ addressFilters }) => addressFilters.some(({ name }) => test(name)));
  const relates = (bits: number) => items.some(({ relations }) => (relations & bits) !== 0);
  return {
    items,
    arrays: selectableArrays(items),
    counts: items.some(({ array }) => array === 'transactions'),
    depths: relates(WITH.inner | WITH.parents),
    programs: hasFilter((name) => name === 'programId'),
    accounts: hasFilter((name) => name !== 'programId'),
    data: ofInstructions.some(({ dataFilters }) => dataFilters.length > 0),
    committed: ofInstructions.some(({ committed }) => committed !== undefined),
    logRows: relates(WITH.ownLogs | WITH.ownInstruction),
  };
}

/** How many rows of a kind the pages in memory have. What only counts them need not be loaded. */
function rowCount(columns: GroupColumns, array: RecordArray): number {
  switch (array) {
    case 'transactions':
      return columns.transactionCount;
    case 'rewards':
      return columns.stored('rewKey').count;
    default:
      return endOf(columns, STARTS[array]);
  }
}

/** The end of the last range. */
function endOf(columns: GroupColumns, name: MadeColumn): number {
  const { at, count } = columns.made(name);
  return columns.kernel.ints[at / 4 + count] as number;
}

const STARTS = {
  instructions: 'instructionStarts',
  logs: 'logStarts',
  balances: 'balanceStarts',
  tokenBalances: 'tokenBalanceStarts',
} as const;

const none: LoadedColumn = { at: 0, width: 0, count: 0 };

/** The numbers of `select.ts`, in its order. What no item needs stays 0 and is not loaded. */
function groupTable(
  columns: GroupColumns,
  needs: GroupNeeds,
  { flags, marks }: Pick<SelectedGroup, 'flags' | 'marks'>,
): number[] {
  const { arrays } = needs;
  const staticCounts = needs.counts ? columns.stored('txStaticCount') : none;
  const writableCounts = needs.counts ? columns.stored('txWritableCount') : none;
  const readonlyCounts = needs.counts ? columns.stored('txReadonlyCount') : none;
  const depths = needs.depths ? columns.stored('insDepth') : none;
  const programs = needs.programs ? columns.stored('insProgram') : none;
  const accounts = needs.accounts ? columns.stored('insAccounts') : none;
  const fields = needs.committed ? columns.stored('insFlags') : none;
  const logRows = needs.logRows ? columns.stored('logInstruction') : none;
  return [
    columns.made('keyStarts').at,
    columns.stored('txKeys').at,
    staticCounts.at,
    staticCounts.width,
    writableCounts.at,
    writableCounts.width,
    readonlyCounts.at,
    readonlyCounts.width,
    marks,
    flags.transactions,
    flags.instructions,
    flags.logs,
    flags.balances,
    flags.tokenBalances,
    arrays.has('instructions') ? columns.made('instructionStarts').at : 0,
    arrays.has('logs') ? columns.made('logStarts').at : 0,
    arrays.has('balances') ? columns.made('balanceStarts').at : 0,
    arrays.has('tokenBalances') ? columns.made('tokenBalanceStarts').at : 0,
    depths.at,
    depths.width,
    programs.at,
    programs.width,
    accounts.at,
    accounts.width,
    needs.accounts ? columns.made('accountStarts').at : 0,
    needs.data ? columns.stored('insData').at : 0,
    needs.data ? columns.made('dataStarts').at : 0,
    fields.at,
    fields.width,
    logRows.at,
    logRows.width,
  ];
}

/** One item in the kernel's memory: what is the same for all row groups is written once. */
class ItemTable {
  readonly #kernel: EngineKernel;
  readonly #item: PlannedItem;
  readonly #at: number;
  readonly #filters: number;
  readonly #candidates: number;
  #used = itemBytes + rowTableBytes;

  constructor(kernel: EngineKernel, segment: Segment, item: PlannedItem) {
    this.#kernel = kernel;
    this.#item = item;
    const candidates = item.driving?.transactions;
    const size = itemBytes + rowTableBytes + sizeOf(item, segment) + (candidates?.length ?? 0) * 4;
    this.#at = kernel.allocate(size);
    kernel.bytes.fill(0, this.#at, this.#at + size);
    this.#filters = this.#reserve(item.addressFilters.length * filterBytes);
    const dataTable = this.#reserve(item.dataFilters.length * filterBytes);
    item.addressFilters.forEach(({ ids }, i) => {
      const at = this.#reserve(idsBytes(ids, segment));
      if (ids.length <= idListMax) kernel.ints.set(ids, at / 4);
      else this.#setBits(at, ids);
      kernel.ints.set([0, 0, ids.length, at], (this.#filters + i * filterBytes) / 4);
    });
    item.dataFilters.forEach(({ values }, i) => {
      const at = this.#reserve(values.length * dataValueBytes);
      values.forEach((value, n) => {
        this.#writeValue(at + n * dataValueBytes, value);
      });
      kernel.ints.set([0, 0, values.length, at], (dataTable + i * filterBytes) / 4);
    });
    this.#candidates = candidates === undefined ? 0 : this.#reserve(candidates.length * 4);
    if (candidates !== undefined) kernel.ints.set(candidates, this.#candidates / 4);
    const committed = item.committed === undefined ? 3 : item.committed ? 1 : 0;
    const { length: addressCount } = item.addressFilters;
    const { length: dataCount } = item.dataFilters;
    kernel.ints.set([this.#filters, addressCount, dataTable, dataCount, committed], this.#at / 4);
    const program = item.addressFilters.findIndex(({ name }) => name === 'programId');
    kernel.ints[this.#at / 4 + 5] = item.relations;
    kernel.ints[this.#at / 4 + 9] = program < 0 ? 0 : 1 << program;
  }

  release(): void {
    this.#kernel.release(this.#at);
  }

  /** Runs the kernel of the item's kind on a row group; answers how many rows matched. */
  run(columns: GroupColumns, flags: Readonly<Record<RecordArray, number>>, ranks: number): number {
    const { exports } = this.#kernel;
    const { transactionCount } = columns;
    this.#bind(columns, ranks);
    switch (this.#item.array) {
      case 'transactions':
        return exports.selectTransactions(this.#at, transactionCount);
      case 'instructions':
        return exports.selectInstructions(this.#at, transactionCount);
      case 'rewards':
        return this.#runRewards(columns, flags.rewards);
      default:
        return this.#runRows(columns, flags[this.#item.array]);
    }
  }

  /** Fills in what the filters apply to in this group, and its candidates. */
  #bind(columns: GroupColumns, ranks: number): void {
    const { array, addressFilters, driving } = this.#item;
    for (let i = 0; i < addressFilters.length; i++) {
      const { name } = addressFilters[i] as PlannedItem['addressFilters'][number];
      const [target, shape] = filterTarget(columns, array, name);
      const { ints } = this.#kernel;
      const at = (this.#filters + i * filterBytes) / 4;
      ints[at] = target;
      ints[at + 1] = shape;
    }
    if (driving === undefined) return;
    const { firstTransaction, transactionCount, pageTransactions } = columns.group;
    const end = firstTransaction + transactionCount;
    const [from, to] = sliceOf(driving.transactions, firstTransaction, end);
    const candidates = this.#candidates + from * 4;
    const places = columns.scratch.reserve((to - from) * 4);
    const { exports, ints } = this.#kernel;
    exports.placeTransactions(
      candidates,
      to - from,
      firstTransaction,
      pageTransactions,
      ranks,
      places,
    );
    ints[this.#at / 4 + 6] = places;
    ints[this.#at / 4 + 7] = to - from;
  }

  #runRewards(columns: GroupColumns, flags: number): number {
    const { at, width, count } = columns.stored('rewKey');
    const ids = this.#item.addressFilters[0]?.ids;
    const list = ids === undefined ? 0 : (this.#kernel.ints[this.#filters / 4 + 3] as number);
    return this.#kernel.exports.selectRewards(at, width, count, list, ids?.length ?? -1, flags);
  }

  #runRows(columns: GroupColumns, flags: number): number {
    const array = this.#item.array as Exclude<keyof typeof STARTS, 'instructions'>;
    const { logKinds } = this.#item;
    const kinds = logKinds === 0 ? none : columns.stored('logKind');
    const rows = [columns.made(STARTS[array]).at, flags, MARK_BITS[array]];
    const table = this.#at + itemBytes;
    this.#kernel.ints.set([...rows, kinds.at, kinds.width, logKinds], table / 4);
    return this.#kernel.exports.selectRows(this.#at, table, columns.transactionCount);
  }

  /** The item's memory comes zeroed. */
  #setBits(at: number, ids: Uint32Array): void {
    const { bytes } = this.#kernel;
    for (const id of ids) {
      const place = at + (id >>> 3);
      bytes[place] = (bytes[place] as number) | (1 << (id & 7));
    }
  }

  #writeValue(at: number, value: Uint8Array): void {
    const { bytes, ints } = this.#kernel;
    bytes.set(value, at);
    bytes.fill(0xff, at + 16, at + 16 + value.length);
    ints[at / 4 + 8] = value.length;
  }

  #reserve(byteCount: number): number {
    const at = this.#at + this.#used;
    this.#used += Math.ceil(byteCount / 16) * 16;
    return at;
  }
}

/** A list, or where it is long a bit for every id of the segment. */
function idsBytes(ids: Uint32Array, { directory }: Segment): number {
  return ids.length <= idListMax ? ids.length * 4 : Math.ceil(directory.addressCount / 8);
}

function sizeOf({ addressFilters, dataFilters }: PlannedItem, segment: Segment): number {
  const ids = addressFilters.reduce(
    (sum, { ids }) => sum + filterBytes + idsBytes(ids, segment) + 16,
    0,
  );
  const values = dataFilters.reduce(
    (sum, { values }) => sum + filterBytes + values.length * dataValueBytes + 16,
    0,
  );
  return ids + values + 64;
}

/** What a filter applies to, in the two numbers its kernel expects. */
function filterTarget(columns: GroupColumns, array: RecordArray, name: string): [number, number] {
  switch (array) {
    case 'transactions':
      return [name === 'feePayer' ? 0 : 1, 0];
    case 'instructions':
      return [
        name === 'programId' ? 16 : name === 'mentionsAccount' ? 17 : Number(name.slice(1)),
        0,
      ];
    case 'logs':
      return shape(columns.stored('logProgram'));
    case 'balances':
      return shape(columns.stored('balAccount'));
    case 'tokenBalances':
      return tokenShape(columns, name);
    case 'rewards':
      return [0, 0];
  }
}

/** Marks a column in which 0 is null and positions count from 1. */
const orNull = 256;
/** Times the values from one row to the next. */
const perRow = 65_536;

function shape({ at, width }: LoadedColumn): [number, number] {
  return [at, width + perRow];
}

const TOKEN_COLUMNS: Readonly<Record<string, (columns: GroupColumns) => LoadedColumn>> = {
  account: (columns) => columns.stored('tokAccount'),
  preMint: (columns) => columns.stored('tokPreMint'),
  postMint: (columns) => columns.made('tokenPostMint'),
  preProgramId: (columns) => columns.stored('tokPreProgram'),
  postProgramId: (columns) => columns.made('tokenPostProgram'),
  preOwner: (columns) => columns.stored('tokPreOwner'),
  postOwner: (columns) => columns.made('tokenPostOwner'),
};

function tokenShape(columns: GroupColumns, name: string): [number, number] {
  const load = TOKEN_COLUMNS[name];
  assert(load !== undefined, 'every filter of token balances has a column');
  const [at, own] = shape(load(columns));
  return [at, own + (name === 'account' ? 0 : orNull)];
}
