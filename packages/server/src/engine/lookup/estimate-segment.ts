import * as layout from '@sluice/kernels/layout/selection';
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { Selection } from '../../query/query.ts';
import { sliceOf, unite } from '../../segment/indexes/ascending-lists.ts';
import { SECTIONS } from '../../segment/layout/columns.ts';
import { pageCountOf } from '../../segment/layout/group-entry.ts';
import type { StoredGroup } from '../../segment/layout/stored-group.ts';
import type { Segment } from '../../segment/read/open-segment.ts';
import type { EngineSegment } from '../engine-segment.ts';
import { selectableArrays } from '../group-table.ts';
import { type PlannedItem, planItems } from '../plan-items.ts';
import type { BlockRange } from '../segment-run.ts';
import { BlockTransactions } from './block-transactions.ts';

/** An estimate of what a query would read of one segment, from the indexes alone. */
export interface SegmentEstimate {
  readonly blockCount: number;
  /** Blocks with a transaction or rewards that the indexes cannot rule out. */
  readonly candidateBlockCount: number;
  readonly transactionCount: number;
  readonly candidateCount: number;
  /** The stored bytes of the pages with candidates. */
  readonly byteCount: number;
  /** How many records, and blocks with a line, the query selects at least and at most. */
  readonly min: RowNumbers;
  readonly max: RowNumbers;
}

export const ROW_NUMBER_NAMES = ['blocks', ...RECORD_ARRAY_NAMES] as const;
export type RowNumbers = Record<(typeof ROW_NUMBER_NAMES)[number], number>;

type Span = ReturnType<BlockTransactions['within']>;

export function estimateSegment(
  { selection, range }: { readonly selection: Selection; readonly range: BlockRange },
  { segment, index }: EngineSegment,
): SegmentEstimate {
  const byBlock = new BlockTransactions(segment);
  const span = byBlock.within(range);
  const items = planItems(selection, index, segment.directory.transactionCount);
  const candidates = candidatesOf(items, span);
  const hasRewards = items.some(({ array }) => array === 'rewards');
  let candidateBlockCount = 0;
  for (let block = span.blockStart; block < span.blockEnd; block++) {
    const [from, to] = sliceOf(candidates, byBlock.startOf(block), byBlock.startOf(block + 1));
    const rewardCount = hasRewards ? segment.counts.rewards.at(block) : 0;
    if (to > from || rewardCount > 0) candidateBlockCount++;
  }
  const sections = neededSections(items, selection);
  let byteCount = 0;
  for (const group of segment.groups) {
    const isInRange =
      group.firstBlock < span.blockEnd && group.firstBlock + group.blockCount > span.blockStart;
    if (!isInRange) continue;
    byteCount += pageBytes(group, candidates, sections);
    if (hasRewards) byteCount += storedLengthOf(group, rewardSection);
  }
  return {
    blockCount: span.blockEnd - span.blockStart,
    candidateBlockCount,
    transactionCount: span.end - span.start,
    candidateCount: candidates.length,
    byteCount: Math.round(byteCount),
    min: fewestRows(selection, items, segment, span),
    max: mostRows(
      items,
      { segment, byBlock, span },
      selection.includeAllBlocks ? span.blockEnd - span.blockStart : candidateBlockCount,
    ),
  };
}

/** Counts what every response has: all blocks or records, if the query selects all of a kind. */
function fewestRows(
  { includeAllBlocks }: Selection,
  items: readonly PlannedItem[],
  { counts }: Segment,
  { blockStart, blockEnd }: Span,
): RowNumbers {
  const whole = wholeArrays(items);
  const fewest = mapKeys(ROW_NUMBER_NAMES, () => 0);
  for (let block = blockStart; block < blockEnd; block++) {
    let hasLine = includeAllBlocks;
    for (const array of whole) {
      const count = counts[array].at(block);
      fewest[array] += count;
      hasLine ||= count > 0;
    }
    if (hasLine) fewest.blocks++;
  }
  return fewest;
}

/** The relations by which a transaction brings all its records of a kind. */
const WHOLE_RELATIONS = [
  [layout.WITH_INSTRUCTIONS, 'instructions'],
  [layout.WITH_LOGS, 'logs'],
  [layout.WITH_BALANCES, 'balances'],
  [layout.WITH_TOKEN_BALANCES, 'tokenBalances'],
] as const;

/** Returns the kinds of which items without filters select all records. */
function wholeArrays(items: readonly PlannedItem[]): ReadonlySet<RecordArray> {
  const arrays = new Set<RecordArray>();
  for (const item of items) {
    const { array, addressFilters, dataFilters, isCommitted, logKinds, relations } = item;
    const hasFilter = addressFilters.length + dataFilters.length + logKinds > 0;
    if (hasFilter || isCommitted !== undefined) continue;
    arrays.add(array);
    if (array !== 'transactions') continue;
    for (const [bit, brought] of WHOLE_RELATIONS) if (relations & bit) arrays.add(brought);
  }
  return arrays;
}

/** Counts the records of all blocks in which an item can match, by the items that can select records of a kind. */
function mostRows(
  items: readonly PlannedItem[],
  { segment, byBlock, span }: { segment: Segment; byBlock: BlockTransactions; span: Span },
  blocks: number,
): RowNumbers {
  const most = (array: RecordArray): number => {
    const selecting = items.filter((item) => selectableArrays([item]).has(array));
    if (selecting.length === 0) return 0;
    const candidates = candidatesOf(selecting, span);
    if (array === 'transactions') return candidates.length;
    let sum = 0;
    for (let block = span.blockStart; block < span.blockEnd; block++) {
      const [from, to] = sliceOf(candidates, byBlock.startOf(block), byBlock.startOf(block + 1));
      if (to > from || array === 'rewards') sum += segment.counts[array].at(block);
    }
    return sum;
  };
  return { ...mapKeys(RECORD_ARRAY_NAMES, most), blocks };
}

/** Returns the transactions of the span in which an item can match, ascending. */
function candidatesOf(items: readonly PlannedItem[], { start, end }: Span): Uint32Array {
  const ofTransactions = items.filter(({ array }) => array !== 'rewards');
  if (ofTransactions.some(({ driving }) => driving === undefined))
    return new Uint32Array(end - start).map((_, i) => start + i);
  const lists = ofTransactions.map(({ driving }) => {
    const transactions = driving?.transactions ?? new Uint32Array(0);
    return transactions.subarray(...sliceOf(transactions, start, end));
  });
  return unite(lists);
}

const rewardSection = SECTIONS.indexOf('rewards');

/** The sections with the records of an array, in addition to those of the transactions, which every query reads. */
const ARRAY_SECTIONS: Readonly<Record<RecordArray, readonly (typeof SECTIONS)[number][]>> = {
  transactions: [],
  instructions: ['instructions', 'data'],
  logs: ['logs'],
  balances: ['balances'],
  tokenBalances: ['tokenBalances'],
  rewards: [],
};

function neededSections(items: readonly PlannedItem[], { fields }: Selection): readonly number[] {
  const arrays = selectableArrays(items);
  const names = new Set<(typeof SECTIONS)[number]>(['transactions', 'keys']);
  for (const array of arrays) for (const name of ARRAY_SECTIONS[array]) names.add(name);
  if (arrays.has('transactions') && fields.transaction.includes('signatures'))
    names.add('signatures');
  return [...names].map((name) => SECTIONS.indexOf(name));
}

function pageBytes(
  group: StoredGroup,
  candidates: Uint32Array,
  sections: readonly number[],
): number {
  const { firstTransaction, transactionCount, pageTransactions } = group;
  const end = firstTransaction + transactionCount;
  const [from, to] = sliceOf(candidates, firstTransaction, end);
  let [pageCount, lastPage] = [0, -1];
  for (let i = from; i < to; i++) {
    const page = Math.floor(((candidates[i] as number) - firstTransaction) / pageTransactions);
    if (page !== lastPage) pageCount++;
    lastPage = page;
  }
  if (pageCount === 0) return 0;
  const stored = sections.reduce((sum, section) => sum + storedLengthOf(group, section), 0);
  return (stored * pageCount) / pageCountOf(group) + group.pageTable.length;
}

/** A section that the segment does not have takes no bytes. */
function storedLengthOf(group: StoredGroup, section: number): number {
  return section < group.sectionCount ? group.sectionAt(section).storedLength : 0;
}
