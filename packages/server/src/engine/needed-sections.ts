/** Which sections of a row group a query reads, found without reading any. */
import { RECORD_ARRAYS } from '@sluice/protocol/field-table';
import type { Selection } from '../query/query.ts';
import { type ColumnName, SECTIONS, type Section, shapeOf } from '../segment/layout/columns.ts';
import { type GroupNeeds, needsOf } from './group-table.ts';
import type { ColumnReader, LoadedColumn, MadeColumn } from './make-column.ts';
import type { PlannedItem } from './plan-items.ts';
import { STEPS, type Step, type StepContext } from './steps.ts';

/** Numbers of sections. */
export interface NeededSections {
  /** Read to select rows. */
  readonly select: ReadonlySet<number>;
  /** Read to write the selected rows. */
  readonly write: ReadonlySet<number>;
}

/** The section of the stored columns that a derived column is made of. */
const MADE_OF: Readonly<Record<MadeColumn, Section>> = {
  keyStarts: 'transactions',
  instructionStarts: 'transactions',
  logStarts: 'transactions',
  balanceStarts: 'transactions',
  tokenBalanceStarts: 'transactions',
  lookupStarts: 'transactions',
  signatureStarts: 'transactions',
  lookupIndexStarts: 'transactions',
  accountStarts: 'instructions',
  addressTexts: 'instructions',
  addressTextStarts: 'instructions',
  dataStarts: 'data',
  messageStarts: 'logs',
  logIndexes: 'logs',
  textStarts: 'texts',
  balancePost: 'balances',
  tokenPostAmount: 'tokenBalances',
  tokenPostMint: 'tokenBalances',
  tokenPostDecimals: 'tokenBalances',
  tokenPostProgram: 'tokenBalances',
  tokenPostOwner: 'tokenBalances',
  rewardLamports: 'rewards',
};

/** Notes the sections of the columns that it is asked for, and loads nothing. */
class SectionRecorder implements ColumnReader {
  readonly sections = new Set<number>();

  stored(name: ColumnName): LoadedColumn {
    return this.add(shapeOf(name).section);
  }

  made(name: MadeColumn): LoadedColumn {
    return this.add(MADE_OF[name]);
  }

  add(section: Section): LoadedColumn {
    this.sections.add(SECTIONS.indexOf(section));
    return none;
  }
}

/** What decoded instructions and logs are made of. Events are in logs and in calls. */
const decodedSections: readonly Section[] = ['instructions', 'data', 'logs'];

const none: LoadedColumn = { at: 0, width: 0, count: 0 };

export function neededSections(
  items: readonly PlannedItem[],
  selection: Selection,
): NeededSections {
  const needs = needsOf(items);
  const select = new SectionRecorder();
  recordSelecting(select, needs);
  for (const item of items) recordFilters(select, item);
  const write = new SectionRecorder();
  const context: StepContext = {
    dialect: selection.dialect,
    lookupTable: 0,
    setInt: () => undefined,
    decode: () => {
      for (const section of decodedSections) write.add(section);
      return { p0: 0, w0: 0 };
    },
  };
  for (const array of needs.arrays) {
    const kind = RECORD_ARRAYS[array];
    const steps: Readonly<Record<string, Step>> = STEPS[kind];
    for (const name of selection.fields[kind]) steps[name]?.bind(write, context);
  }
  const decoded = selection.arrow?.decoded;
  if (decoded !== undefined)
    for (const section of decodedSections)
      if (section !== 'logs' || decoded.isEvent) write.add(section);
  if (decoded !== undefined && decoded.mints.length > 0) write.add('tokenBalances');
  return { select: select.sections, write: write.sections };
}

function recordSelecting(select: SectionRecorder, needs: GroupNeeds): void {
  // Every selection needs the counts and the keys of transactions.
  select.add('transactions');
  select.add('keys');
  if (needs.depths || needs.programs || needs.accounts || needs.instructionOutcomes)
    select.add('instructions');
  if (needs.data) select.add('data');
  if (needs.logRows) select.add('logs');
  if (needs.arrays.has('rewards')) select.add('rewards');
}

function recordFilters(select: SectionRecorder, { addressFilters, logKinds }: PlannedItem): void {
  if (logKinds !== 0) select.add('logs');
  for (const { test } of addressFilters) {
    if (test.by !== 'columns') continue;
    for (const column of test.columns) {
      if ('stored' in column) select.stored(column.stored);
      else select.made(column.made);
    }
  }
}

/** Returns whether an item selects every record of its kind, so that every page of its row groups is used. */
export function selectsAll(item: PlannedItem): boolean {
  const { addressFilters, dataFilters, isCommitted, logKinds } = item;
  const filterCount = addressFilters.length + dataFilters.length;
  return filterCount === 0 && isCommitted === undefined && logKinds === 0;
}
