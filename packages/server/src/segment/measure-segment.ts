/** What takes how much in a segment: every byte of the file is in exactly one row. */
import { BLOCK_COLUMN_NAMES } from './block-columns.ts';
import { COLUMN_NAMES } from './columns.ts';
import { decodeFooter, footerBytes, headerBytes } from './directory.ts';
import type { Segment } from './open-segment.ts';
import type { UnitEntry } from './unit.ts';

export interface MeasuredPart {
  /** A table, or a part of the segment beside its tables. */
  readonly table: string;
  readonly column: string;
  readonly unitCount: number;
  /** Values: integers, or bytes where the units hold bytes. */
  readonly valueCount: number;
  readonly storedBytes: number;
  readonly rawBytes: number;
}

/** The tables of row groups, by the prefix of their columns' names. */
const TABLES: readonly (readonly [prefix: string, table: string])[] = [
  ['tx', 'transactions'],
  ['lookup', 'lookups'],
  ['ins', 'instructions'],
  ['log', 'logs'],
  ['bal', 'balances'],
  ['tok', 'tokenBalances'],
  ['rew', 'rewards'],
  ['text', 'texts'],
];

export function measureSegment(segment: Segment): MeasuredPart[] {
  const { directory, bytes } = segment;
  const columns = COLUMN_NAMES.map((name, number) =>
    measure(
      tableOf(name),
      name,
      directory.groups.map(({ units }) => units[number] as UnitEntry),
    ),
  );
  const blocks = BLOCK_COLUMN_NAMES.map((name, number) =>
    measure('blocks', name, [directory.blockUnits[number] as UnitEntry]),
  );
  const footer = bytes.read(bytes.length - footerBytes, footerBytes);
  const frame = headerBytes + footerBytes;
  const plain = { unitCount: 2, valueCount: frame, storedBytes: frame, rawBytes: frame };
  return [
    ...blocks,
    ...columns,
    measure('dictionary', 'keys', directory.dictionaryPages),
    measure('filter', 'buckets', [directory.bucketCounts]),
    measure('filter', 'fingerprints', [directory.fingerprints]),
    measure('index', 'ids', [directory.ids]),
    measure('index', 'postings', directory.postingsPages),
    measure('directory', 'entries', [decodeFooter(footer, bytes.length)]),
    { table: 'directory', column: 'header and footer', ...plain },
  ];
}

function tableOf(column: string): string {
  return TABLES.find(([prefix]) => column.startsWith(prefix))?.[1] ?? column;
}

function measure(table: string, column: string, units: readonly UnitEntry[]): MeasuredPart {
  const sum = (value: (unit: UnitEntry) => number) =>
    units.reduce((total, unit) => total + value(unit), 0);
  return {
    table,
    column,
    unitCount: units.length,
    valueCount: sum((unit) => unit.count),
    storedBytes: sum((unit) => unit.storedLength),
    rawBytes: sum((unit) => unit.rawLength),
  };
}
