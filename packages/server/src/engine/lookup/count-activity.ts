/**
 * Counts in how many transactions of a range each program, discriminator, mint and account appears, from the indexes of one segment.
 *
 *   programs, discriminators   the posting lists of instruction classes, merged if a count covers several classes
 *   mints                      the table of mints lists them; their posting lists give the transactions
 *   accounts                   the table of the busiest accounts; for a part of the segment, their posting lists
 */
import { elementAt } from '@sluice/base/element-at';
import type { Steps } from '@sluice/base/time-slices';
import { valueOfKey } from '@sluice/base/value-of-key';
import { KeyTexts } from '../../segment/encoding/codec.ts';
import { sliceOf } from '../../segment/indexes/ascending-lists.ts';
import type { ClassTable } from '../../segment/indexes/index-builder.ts';
import type { SegmentIndex } from '../../segment/indexes/segment-index.ts';
import { keyBytes } from '../../segment/layout/dictionary.ts';
import { PART } from '../../segment/layout/directory.ts';
import type { Segment } from '../../segment/read/open-segment.ts';
import type { EngineSegment } from '../engine-segment.ts';
import type { BlockRange } from '../segment-run.ts';
import { BlockTransactions } from './block-transactions.ts';

export interface ActivityLookup {
  readonly kind: 'activity';
  readonly range: BlockRange;
  /** The length of the discriminators of each program, in bytes. It is 8 for all other programs, or the length by which the segment has classified the data. */
  readonly prefixLengths: ReadonlyMap<string, number>;
}

export interface AddressCount {
  readonly address: string;
  readonly count: number;
}

export interface DiscriminatorCount extends AddressCount {
  /** Hexadecimal, without `0x`. */
  readonly prefix: string;
}

export interface SegmentActivity {
  readonly blockCount: number;
  readonly transactionCount: number;
  readonly programs: CountList<AddressCount>;
  readonly discriminators: CountList<DiscriminatorCount>;
  readonly mints: CountList<AddressCount>;
  readonly accounts: CountList<AddressCount>;
  /** The hashes of the last blocks. Transactions of the next segment list them among their keys. */
  readonly lastHashes: readonly string[];
}

export interface CountList<Row> {
  /** Greatest counts first. */
  readonly rows: readonly Row[];
  /** Whether rows were left out. */
  readonly isCut: boolean;
}

/** How many rows of each list are taken from one segment. */
const rowCountMax = 2_048;
/** A transaction may name the hash of a block up to 150 blocks below it. This is twice as many, to be safe. */
const lastHashCount = 300;

/** The counted transactions. The end is exclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The count of one address id. `prefix` is empty except for discriminators. */
interface IdCount {
  readonly id: number;
  readonly prefix: string;
  readonly count: number;
}

export function* countActivity(
  { range, prefixLengths }: ActivityLookup,
  { segment, index }: EngineSegment,
): Steps<SegmentActivity> {
  const { headers } = segment;
  const { blockStart, blockEnd, start, end } = new BlockTransactions(segment).within(range);
  const span = { start, end };
  const isWhole = blockEnd - blockStart === segment.blockCount;
  const classes = yield* countClasses({ segment, index, prefixLengths }, { span, isWhole });
  const [mintIds, mintRecords] = readTable(segment, PART.mints);
  const mostRecords = greatest(toCounts(mintIds, mintRecords));
  const mints = greatest(yield* countMentions(mostRecords.rows, index, span));
  const accountTable = toCounts(...readTable(segment, PART.accounts));
  const accounts = greatest(
    isWhole ? accountTable : yield* countMentions(accountTable, index, span),
  );
  const lists = [classes.programs, classes.discriminators, mints, accounts];
  const ids = lists.flatMap(({ rows }) => rows.map(({ id }) => id));
  const texts = readKeyTexts(segment, ids);
  const named = ({ rows, isCut }: CountList<IdCount>): CountList<AddressCount> => ({
    rows: rows.map(({ id, count }) => ({ address: valueOfKey(texts, id), count })),
    isCut,
  });
  const hashes = headers.toArray().map(({ hash }) => hash);
  const ownHashes = new Set<string>(hashes);
  const { rows: accountRows } = named(accounts);
  return {
    blockCount: blockEnd - blockStart,
    transactionCount: end - start,
    programs: named(classes.programs),
    discriminators: {
      rows: classes.discriminators.rows.map(({ id, prefix, count }) => ({
        address: valueOfKey(texts, id),
        prefix,
        count,
      })),
      isCut: classes.discriminators.isCut,
    },
    mints: { ...named(mints), isCut: mostRecords.isCut || mints.isCut },
    accounts: {
      // The table counts every key that transactions name, including the hashes of blocks.
      rows: accountRows.filter(({ address }) => !ownHashes.has(address)),
      isCut: segment.addressCount > accountTable.length,
    },
    lastHashes: hashes.slice(-lastHashCount),
  };
}

interface ClassSource {
  readonly segment: EngineSegment['segment'];
  readonly index: SegmentIndex;
  readonly prefixLengths: ReadonlyMap<string, number>;
}

function* countClasses(
  { segment, index, prefixLengths }: ClassSource,
  counted: { readonly span: Span; readonly isWhole: boolean },
): Steps<{ programs: CountList<IdCount>; discriminators: CountList<IdCount> }> {
  const { classes } = index;
  const counter = new ClassCounter(classes, segment.directory.transactionCount, counted);
  const byProgram = new Map<number, number[]>();
  for (let number = 0; number < classes.count; number++)
    pushTo(byProgram, classes.row(number).program, number);
  const texts = readKeyTexts(segment, [...byProgram.keys()]);
  const programs: IdCount[] = [];
  const discriminators: IdCount[] = [];
  for (const [id, numbers] of byProgram) {
    programs.push({ id, prefix: '', count: counter.count(numbers) });
    const length = prefixLengths.get(valueOfKey(texts, id)) ?? prefixBytesMax;
    const byPrefix = new Map<string, number[]>();
    for (const number of numbers) pushTo(byPrefix, prefixOf(classes, number, length), number);
    // A class without a discriminator adds nothing to the count of its program.
    if (length > 0)
      for (const [prefix, classNumbers] of byPrefix)
        discriminators.push({ id, prefix, count: counter.count(classNumbers) });
    yield;
  }
  return { programs: greatest(programs), discriminators: greatest(discriminators) };
}

function pushTo<Key>(lists: Map<Key, number[]>, key: Key, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function prefixOf(classes: ClassTable, number: number, length: number): string {
  const { prefix } = classes.row(number);
  return Buffer.from(prefix.subarray(0, length)).toString('hex');
}

/** Counts the transactions of classes in a span. A transaction in several of the classes counts once. */
class ClassCounter {
  readonly #classes: ClassTable;
  readonly #span: Span;
  readonly #isWhole: boolean;
  /** For each transaction, the number of the count that last included it. */
  readonly #counted: Uint32Array;
  #round = 0;

  constructor(
    classes: ClassTable,
    transactionCount: number,
    { span, isWhole }: { readonly span: Span; readonly isWhole: boolean },
  ) {
    this.#classes = classes;
    this.#span = span;
    this.#isWhole = isWhole;
    this.#counted = new Uint32Array(transactionCount);
  }

  count(numbers: readonly number[]): number {
    if (numbers.length === 1) return this.#countOne(elementAt(numbers, 0));
    const round = ++this.#round;
    let count = 0;
    for (const number of numbers) {
      for (const transaction of this.#listOf(number)) {
        if (this.#counted[transaction] === round) continue;
        this.#counted[transaction] = round;
        count++;
      }
    }
    return count;
  }

  #countOne(number: number): number {
    return this.#isWhole ? this.#classes.row(number).transactionCount : this.#listOf(number).length;
  }

  #listOf(number: number): Uint32Array {
    const list = this.#classes.transactions(number);
    return this.#isWhole ? list : list.subarray(...sliceOf(list, this.#span.start, this.#span.end));
  }
}

/** How many lists are decoded between two steps. */
const listsAStep = 64;

/** Counts the transactions of the span that name each address. */
function* countMentions(
  rows: readonly IdCount[],
  index: SegmentIndex,
  { start, end }: Span,
): Steps<IdCount[]> {
  const counted: IdCount[] = [];
  for (const row of rows) {
    const [from, to] = sliceOf(index.transactions(row.id), start, end);
    counted.push({ ...row, count: to - from });
    if (counted.length % listsAStep === 0) yield;
  }
  return counted;
}

function readTable(
  segment: EngineSegment['segment'],
  kind: number,
): [ids: Uint32Array, counts: Uint32Array] {
  return [segment.readIntUnit(kind, 0), segment.readIntUnit(kind, 1)];
}

function toCounts(ids: Uint32Array, counts: Uint32Array): IdCount[] {
  return Array.from(ids, (id, i) => ({ id, prefix: '', count: elementAt(counts, i) }));
}

/** Returns the greatest counts, without zeros. */
function greatest(rows: readonly IdCount[]): CountList<IdCount> {
  const counted = rows.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  return { rows: counted.slice(0, rowCountMax), isCut: counted.length > rowCountMax };
}

/** The longest prefix that a class of instructions can have. */
const prefixBytesMax = 8;

/**
 * Returns the length of the prefixes of each program whose prefixes are shorter than 8 bytes in this segment. A segment shortens prefixes
 * if 8 bytes would make too many classes, so other segments of the same ledger may have longer ones.
 */
export function listShortPrefixes({ segment, index }: EngineSegment): ReadonlyMap<string, number> {
  const { classes } = index;
  const lengths = new Map<number, number>();
  for (let number = 0; number < classes.count; number++) {
    const { program, prefix, isWhole } = classes.row(number);
    // Data that is shorter than a prefix is a class of its own, whose length says nothing about the other classes of the program.
    if (!isWhole && prefix.length < prefixBytesMax) lengths.set(program, prefix.length);
  }
  const texts = readKeyTexts(segment, [...lengths.keys()]);
  return new Map([...lengths].map(([program, length]) => [valueOfKey(texts, program), length]));
}

/** Keys with a smaller gap between them are read together, because they are in the same or the next chunk, which is read anyway. */
const gapCountMax = 64;

function readKeyTexts(segment: Segment, ids: readonly number[]): ReadonlyMap<number, string> {
  const sorted = Uint32Array.from(new Set(ids)).sort();
  const keys = new Uint8Array(sorted.length * keyBytes);
  for (let from = 0; from < sorted.length; ) {
    let to = from + 1;
    while (to < sorted.length && elementAt(sorted, to) - elementAt(sorted, to - 1) <= gapCountMax)
      to++;
    const first = elementAt(sorted, from);
    const span = segment.readKeys(first, elementAt(sorted, to - 1) - first + 1);
    for (; from < to; from++) {
      const at = (elementAt(sorted, from) - first) * keyBytes;
      keys.set(span.subarray(at, at + keyBytes), from * keyBytes);
    }
  }
  const texts = new KeyTexts(sorted.length, () => keys);
  return new Map(Array.from(sorted, (id, i) => [id, texts.at(i)]));
}
