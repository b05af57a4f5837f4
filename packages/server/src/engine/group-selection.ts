/** Selecting the rows of one row group: fills the tables that the kernels of `select.ts` read, and runs them. */
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { Segment } from '../segment/open-segment.ts';
import type { LoadedColumn } from './column-cache.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { GroupColumns } from './group-columns.ts';
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
const itemBytes = 32;
/** Behind the item: the table of rows for logs, balances and token balances. */
const rowTableBytes = 32;
const filterBytes = 16;
/** The number of `select.ts`. */
const idListMax = 4;
const dataValueBytes = 48;

export interface SelectedGroup {
  readonly marks: number;
  /** By array: a byte a row, or 0 where the query can select none. */
  readonly flags: Readonly<Record<RecordArray, number>>;
  readonly rewardCount: number;
  readonly release: () => void;
}

/** Which arrays the items can select rows of, matched or related. */
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
  if (item.driving === undefined) return true;
  const start = group.firstTransaction;
  const [from, to] = sliceOf(item.driving.transactions, start, start + group.transactionCount);
  return to > from;
}

export function selectGroup(columns: GroupColumns, items: readonly PlannedItem[]): SelectedGroup {
  const { kernel } = columns;
  const allocations: number[] = [];
  const release = () => {
    for (const at of allocations) kernel.release(at);
  };
  const zeroed = (byteCount: number): number => {
    const at = kernel.allocate(byteCount);
    kernel.bytes.fill(0, at, at + byteCount);
    allocations.push(at);
    return at;
  };
  try {
    return { ...select(columns, items, zeroed), release };
  } catch (error) {
    // A damaged column ends the query; what it had taken must not stay taken.
    release();
    throw error;
  }
}

function select(
  columns: GroupColumns,
  items: readonly PlannedItem[],
  zeroed: (byteCount: number) => number,
): Omit<SelectedGroup, 'release'> {
  const { kernel, group } = columns;
  const arrays = selectableArrays(items);
  const flags = Object.fromEntries(
    RECORD_ARRAY_NAMES.map((array) => [
      array,
      arrays.has(array) ? zeroed(rowCount(columns, array)) : 0,
    ]),
  ) as Record<RecordArray, number>;
  const marks = zeroed(group.transactionCount);
  const table = zeroed(128);
  const addresses = groupTable(columns, items, { flags, marks, arrays });
  kernel.ints.set(addresses, table / 4);
  kernel.exports.setGroup(table, kernel.positionScratch);
  for (const item of items) {
    item.matchedRows += new ItemTable(columns, item, zeroed).run(flags);
  }
  const rewardCount = arrays.has('rewards') ? columns.stored('rewKey').count : 0;
  return { marks, flags, rewardCount };
}

function rowCount(columns: GroupColumns, array: RecordArray): number {
  switch (array) {
    case 'transactions':
      return columns.group.transactionCount;
    case 'instructions':
      return columns.stored('insProgram').count;
    case 'logs':
      return columns.stored('logProgram').count;
    case 'balances':
      return columns.stored('balAccount').count;
    case 'tokenBalances':
      return columns.stored('tokAccount').count;
    case 'rewards':
      return columns.stored('rewKey').count;
  }
}

/** The 31 addresses of `select.ts`, in its order. What no item needs stays 0 and is not loaded. */
function groupTable(
  columns: GroupColumns,
  items: readonly PlannedItem[],
  selected: { flags: Record<RecordArray, number>; marks: number; arrays: ReadonlySet<RecordArray> },
): number[] {
  const none: LoadedColumn = { at: 0, width: 0, count: 0, starts: 0 };
  const { flags, marks, arrays } = selected;
  const ofInstructions = items.filter(({ array }) => array === 'instructions');
  const hasFilter = (test: (name: string) => boolean) =>
    ofInstructions.some(({ addressFilters }) => addressFilters.some(({ name }) => test(name)));
  const relates = (bits: number) => items.some(({ relations }) => (relations & bits) !== 0);
  const when = (isNeeded: boolean, load: () => LoadedColumn) => (isNeeded ? load() : none);
  const hasTransactions = items.some(({ array }) => array === 'transactions');
  const counts = (['txStaticCount', 'txWritableCount', 'txReadonlyCount'] as const).map((name) =>
    when(hasTransactions, () => columns.stored(name)),
  );
  const starts = [
    when(arrays.has('instructions'), () => columns.made('instructionStarts')),
    when(arrays.has('logs'), () => columns.made('logStarts')),
    when(arrays.has('balances'), () => columns.made('balanceStarts')),
    when(arrays.has('tokenBalances'), () => columns.made('tokenBalanceStarts')),
  ];
  const depths = when(relates(WITH.inner | WITH.parents), () => columns.stored('insDepth'));
  const programs = when(
    hasFilter((name) => name === 'programId'),
    () => columns.stored('insProgram'),
  );
  const needsAccounts = hasFilter((name) => name !== 'programId');
  const accounts = when(needsAccounts, () => columns.stored('insAccounts'));
  const accountStarts = when(needsAccounts, () => columns.made('accountStarts'));
  const needsData = ofInstructions.some(({ dataFilters }) => dataFilters.length > 0);
  const prefixes = when(needsData, () => columns.made('dataPrefixes'));
  const dataStarts = when(needsData, () => columns.made('dataStarts'));
  const needsCommitted = ofInstructions.some(({ committed }) => committed !== undefined);
  const fields = when(needsCommitted, () => columns.stored('insFlags'));
  const needsLogRows = relates(WITH.ownLogs | WITH.ownInstruction);
  const logRows = when(needsLogRows, () => columns.stored('logInstruction'));
  return [
    columns.made('keyStarts').at,
    columns.made('keys').at,
    ...counts.flatMap(({ at, width }) => [at, width]),
    marks,
    flags.transactions,
    flags.instructions,
    flags.logs,
    flags.balances,
    flags.tokenBalances,
    ...starts.map(({ at }) => at),
    ...[depths, programs, accounts].flatMap(({ at, width }) => [at, width]),
    accountStarts.at,
    prefixes.at,
    dataStarts.at,
    ...[fields, logRows].flatMap(({ at, width }) => [at, width]),
  ];
}

/** One item in the kernel's memory, for one row group. */
class ItemTable {
  readonly #kernel: EngineKernel;
  readonly #columns: GroupColumns;
  readonly #item: PlannedItem;
  readonly #at: number;
  #used: number;

  constructor(columns: GroupColumns, item: PlannedItem, allocate: (byteCount: number) => number) {
    const { kernel } = columns;
    this.#kernel = kernel;
    this.#columns = columns;
    this.#item = item;
    const targets = item.addressFilters.map(({ name }) => filterTarget(columns, item.array, name));
    const candidates = this.#candidates();
    this.#at = allocate(
      rowTableBytes + itemBytes + sizeOf(item, columns.segment) + (candidates?.length ?? 0) * 4,
    );
    this.#used = itemBytes + rowTableBytes;
    const addressTable = this.#reserve(item.addressFilters.length * filterBytes);
    const dataTable = this.#reserve(item.dataFilters.length * filterBytes);
    item.addressFilters.forEach(({ ids }, i) => {
      const at = this.#reserve(idsBytes(ids, columns.segment));
      if (ids.length <= idListMax) kernel.ints.set(ids, at / 4);
      else this.#setBits(at, ids);
      const [target, shape] = targets[i] as [number, number];
      kernel.ints.set([target, shape, ids.length, at], (addressTable + i * filterBytes) / 4);
    });
    item.dataFilters.forEach(({ values }, i) => {
      const at = this.#reserve(values.length * dataValueBytes);
      values.forEach((value, n) => {
        this.#writeValue(at + n * dataValueBytes, value);
      });
      kernel.ints.set([0, 0, values.length, at], (dataTable + i * filterBytes) / 4);
    });
    const list = candidates === undefined ? 0 : this.#reserve(candidates.length * 4);
    if (candidates !== undefined) kernel.ints.set(candidates, list / 4);
    const committed = item.committed === undefined ? 3 : item.committed ? 1 : 0;
    const { length: addressCount } = item.addressFilters;
    const { length: dataCount } = item.dataFilters;
    kernel.ints.set([addressTable, addressCount, dataTable, dataCount, committed], this.#at / 4);
    kernel.ints.set([item.relations, list, candidates?.length ?? 0], this.#at / 4 + 5);
  }

  /** Runs the kernel of the item's kind; answers how many rows matched. */
  run(flags: Readonly<Record<RecordArray, number>>): number {
    const { exports } = this.#kernel;
    const { transactionCount } = this.#columns.group;
    switch (this.#item.array) {
      case 'transactions':
        return exports.selectTransactions(this.#at, transactionCount);
      case 'instructions':
        return exports.selectInstructions(this.#at, transactionCount);
      case 'rewards':
        return this.#runRewards(flags.rewards);
      default:
        return this.#runRows(flags[this.#item.array]);
    }
  }

  #runRewards(flags: number): number {
    const { at, width, count } = this.#columns.stored('rewKey');
    const ids = this.#item.addressFilters[0]?.ids;
    const list = ids === undefined ? 0 : this.#firstIds();
    return this.#kernel.exports.selectRewards(at, width, count, list, ids?.length ?? -1, flags);
  }

  /** Where the ids of the first address filter are. */
  #firstIds(): number {
    const { ints } = this.#kernel;
    const filters = ints[this.#at / 4] as number;
    return ints[filters / 4 + 3] as number;
  }

  #runRows(flags: number): number {
    const starts = {
      logs: 'logStarts',
      balances: 'balanceStarts',
      tokenBalances: 'tokenBalanceStarts',
    } as const;
    const array = this.#item.array as keyof typeof starts;
    const { logKinds } = this.#item;
    const kinds = logKinds === 0 ? undefined : this.#columns.stored('logKind');
    const rows = [this.#columns.made(starts[array]).at, flags, MARK_BITS[array]];
    const table = this.#at + itemBytes;
    this.#kernel.ints.set([...rows, kinds?.at ?? 0, kinds?.width ?? 0, logKinds], table / 4);
    return this.#kernel.exports.selectRows(this.#at, table, this.#columns.group.transactionCount);
  }

  #candidates(): Uint32Array | undefined {
    const { driving } = this.#item;
    if (driving === undefined) return undefined;
    const { firstTransaction, transactionCount } = this.#columns.group;
    const [from, to] = sliceOf(
      driving.transactions,
      firstTransaction,
      firstTransaction + transactionCount,
    );
    return driving.transactions
      .subarray(from, to)
      .map((transaction) => transaction - firstTransaction);
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
    bytes.fill(0, at, at + dataValueBytes);
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
  /** Marks a column in which 0 is null and positions count from 1. */
  const orNull = 256;
  switch (array) {
    case 'transactions':
      return [name === 'feePayer' ? 0 : 1, 0];
    case 'instructions':
      return [
        name === 'programId' ? 16 : name === 'mentionsAccount' ? 17 : Number(name.slice(1)),
        0,
      ];
    case 'logs':
      return shape(columns.stored('logProgram'), 0);
    case 'balances':
      return shape(columns.stored('balAccount'), 0);
    case 'tokenBalances':
      return shape(tokenColumn(columns, name), name === 'account' ? 0 : orNull);
    case 'rewards':
      return [0, 0];
  }
}

function shape({ at, width }: LoadedColumn, bits: number): [number, number] {
  return [at, width + bits];
}

function tokenColumn(columns: GroupColumns, name: string): LoadedColumn {
  switch (name) {
    case 'account':
      return columns.stored('tokAccount');
    case 'preProgramId':
      return columns.stored('tokPreProgram');
    case 'postProgramId':
      return columns.made('postProgram');
    case 'preMint':
      return columns.stored('tokPreMint');
    case 'postMint':
      return columns.made('postMint');
    case 'preOwner':
      return columns.stored('tokPreOwner');
    default:
      return columns.made('postOwner');
  }
}
