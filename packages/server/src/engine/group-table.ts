/** The table of a row group that the kernel `select.ts` reads: which columns a query needs, and where they are. */

import * as layout from '@sluice/kernels/layout/selection';
import type { RecordArray } from '@sluice/protocol/field-table';
import type { ColumnName } from '../segment/layout/columns.ts';
import type { GroupColumns } from './group-columns.ts';
import type { LoadedColumn, MadeColumn } from './make-column.ts';
import { type AddressFilter, isByProgram, type PlannedItem } from './plan-items.ts';

/** Returns the arrays whose rows the items can select, as matches or as related rows. */
export function selectableArrays(
  items: readonly Pick<PlannedItem, 'array' | 'relations'>[],
): ReadonlySet<RecordArray> {
  const arrays = new Set<RecordArray>();
  for (const { array, relations } of items) {
    arrays.add(array);
    if (relations & layout.WITH_TRANSACTION) arrays.add('transactions');
    if (relations & layout.WITH_BALANCES) arrays.add('balances');
    if (relations & layout.WITH_TOKEN_BALANCES) arrays.add('tokenBalances');
    if (
      relations &
      (layout.WITH_INSTRUCTIONS |
        layout.WITH_INNER |
        layout.WITH_PARENTS |
        layout.WITH_OWN_INSTRUCTION)
    ) {
      arrays.add('instructions');
    }
    if (relations & (layout.WITH_OWN_LOGS | layout.WITH_LOGS)) arrays.add('logs');
  }
  return arrays;
}

/** The columns of a group that the items need, besides the columns of their filters. */
export interface GroupNeeds {
  readonly items: readonly PlannedItem[];
  readonly arrays: ReadonlySet<RecordArray>;
  readonly counts: boolean;
  readonly depths: boolean;
  readonly programs: boolean;
  readonly accounts: boolean;
  readonly data: boolean;
  readonly instructionOutcomes: boolean;
  readonly transactionOutcomes: boolean;
  readonly logRows: boolean;
}

export function needsOf(items: readonly PlannedItem[]): GroupNeeds {
  const ofInstructions = items.filter(({ array }) => array === 'instructions');
  const hasFilter = (test: (filter: AddressFilter) => boolean) =>
    ofInstructions.some(({ addressFilters }) => addressFilters.some(test));
  const ofTransactions = items.filter(({ array }) => array === 'transactions');
  const relates = (bits: number) => items.some(({ relations }) => (relations & bits) !== 0);
  return {
    items,
    arrays: selectableArrays(items),
    counts: ofTransactions.length > 0,
    depths: relates(layout.WITH_INNER | layout.WITH_PARENTS),
    programs: hasFilter(isByProgram),
    accounts: hasFilter((filter) => !isByProgram(filter)),
    data: ofInstructions.some(({ dataFilters }) => dataFilters.length > 0),
    instructionOutcomes: ofInstructions.some(({ isCommitted }) => isCommitted !== undefined),
    transactionOutcomes: ofTransactions.some(({ isCommitted }) => isCommitted !== undefined),
    logRows: relates(layout.WITH_OWN_LOGS | layout.WITH_OWN_INSTRUCTION),
  };
}

/** The address of the marks of the transactions, and of the flags of each array. */
interface GroupFlags {
  readonly marks: number;
  readonly flags: Readonly<Record<RecordArray, number>>;
}

const none: LoadedColumn = { at: 0, width: 0, count: 0 };

/** Fills the table of a group. Columns that no item needs are not loaded, and their fields stay 0. */
export function writeGroupTable(
  table: number,
  columns: GroupColumns,
  needs: GroupNeeds,
  { flags, marks }: GroupFlags,
): void {
  const { arrays } = needs;
  const load = (isNeeded: boolean, name: ColumnName) => (isNeeded ? columns.stored(name) : none);
  const make = (isNeeded: boolean, name: MadeColumn) => (isNeeded ? columns.made(name) : none);
  const addresses: readonly (readonly [offset: number, address: number])[] = [
    [layout.GROUP_KEY_STARTS, columns.made('keyStarts').at],
    [layout.GROUP_KEYS, columns.stored('txKeys').at],
    [layout.GROUP_MARKS, marks],
    [layout.GROUP_TRANSACTION_FLAGS, flags.transactions],
    [layout.GROUP_INSTRUCTION_FLAGS, flags.instructions],
    [layout.GROUP_LOG_FLAGS, flags.logs],
    [layout.GROUP_BALANCE_FLAGS, flags.balances],
    [layout.GROUP_TOKEN_FLAGS, flags.tokenBalances],
    [layout.GROUP_INSTRUCTION_STARTS, make(arrays.has('instructions'), 'instructionStarts').at],
    [layout.GROUP_LOG_STARTS, make(arrays.has('logs'), 'logStarts').at],
    [layout.GROUP_BALANCE_STARTS, make(arrays.has('balances'), 'balanceStarts').at],
    [layout.GROUP_TOKEN_STARTS, make(arrays.has('tokenBalances'), 'tokenBalanceStarts').at],
    [layout.GROUP_ACCOUNT_STARTS, make(needs.accounts, 'accountStarts').at],
    [layout.GROUP_DATA, load(needs.data, 'insData').at],
    [layout.GROUP_DATA_STARTS, make(needs.data, 'dataStarts').at],
  ];
  const withWidths: readonly (readonly [at: number, width: number, column: LoadedColumn])[] = [
    [layout.GROUP_STATIC_COUNTS, layout.GROUP_STATIC_WIDTH, load(needs.counts, 'txStaticCount')],
    [
      layout.GROUP_WRITABLE_COUNTS,
      layout.GROUP_WRITABLE_WIDTH,
      load(needs.counts, 'txWritableCount'),
    ],
    [
      layout.GROUP_READONLY_COUNTS,
      layout.GROUP_READONLY_WIDTH,
      load(needs.counts, 'txReadonlyCount'),
    ],
    [layout.GROUP_DEPTHS, layout.GROUP_DEPTH_WIDTH, load(needs.depths, 'insDepth')],
    [layout.GROUP_PROGRAMS, layout.GROUP_PROGRAM_WIDTH, load(needs.programs, 'insProgram')],
    [layout.GROUP_ACCOUNTS, layout.GROUP_ACCOUNT_WIDTH, load(needs.accounts, 'insAccounts')],
    [
      layout.GROUP_INSTRUCTION_FIELDS,
      layout.GROUP_INSTRUCTION_FIELDS_WIDTH,
      load(needs.instructionOutcomes, 'insFlags'),
    ],
    [
      layout.GROUP_LOG_INSTRUCTIONS,
      layout.GROUP_LOG_INSTRUCTION_WIDTH,
      load(needs.logRows, 'logInstruction'),
    ],
    [layout.GROUP_ERRORS, layout.GROUP_ERROR_WIDTH, load(needs.transactionOutcomes, 'txErr')],
    [
      layout.GROUP_FEE_NULLS,
      layout.GROUP_FEE_NULL_WIDTH,
      load(needs.transactionOutcomes, 'txFeeNull'),
    ],
  ];
  // The memory may have grown while columns were loaded, so the view of it is read only now.
  const { ints } = columns.kernel;
  for (const [offset, address] of addresses) ints[(table + offset) / 4] = address;
  for (const [offset, widthOffset, { at, width }] of withWidths) {
    ints[(table + offset) / 4] = at;
    ints[(table + widthOffset) / 4] = width;
  }
}
