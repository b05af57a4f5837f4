/**
 * Segments into one, column by column: rows are copied as ranges, and only what refers to a table of the segment is
 * rewritten. Those are dictionary ids and text codes, both given in order of first mention, so walking the rows in
 * their order gives what building from the blocks would have given: the same bytes.
 *
 * Memory is one row group of one source, one page of its dictionary, and what the writer holds.
 */
import type { BlockHeader } from '../ledger/block.ts';
import { collect } from './build-segment.ts';
import { COLUMN_NAMES, type ColumnName } from './columns.ts';
import type { DictionaryBuilder } from './dictionary.ts';
import { pageKeyCount } from './limits.ts';
import type { Segment } from './open-segment.ts';
import type { GroupRows } from './row-buffer.ts';
import type { BlockCounts, SegmentWriter } from './segment-writer.ts';
import type { TextTable } from './text-table.ts';

/** One segment with the blocks of all, which must ascend by slot: the bytes of `buildSegment` of those blocks. */
export function mergeSegments(segments: readonly Segment[]): Uint8Array {
  return collect((writer) => {
    for (const segment of segments) appendSegment(writer, segment);
  });
}

/** The one block of a segment under a header that says more of it. */
export function mergeUnderHeader(segment: Segment, header: BlockHeader): Uint8Array {
  return collect((writer) => appendSegment(writer, segment, [header]));
}

/** Appends all blocks of a segment without making objects of their records. */
export function appendSegment(
  writer: SegmentWriter,
  segment: Segment,
  headers: readonly BlockHeader[] = segment.headers,
): void {
  const ids = new IdMap(segment, writer.dictionary);
  segment.directory.groups.forEach(({ firstBlock, blockCount }, number) => {
    const source = new GroupSource(segment.readGroup(number), ids);
    for (let block = firstBlock; block < firstBlock + blockCount; block++) {
      const counts = segment.counts[block] as BlockCounts;
      writer.appendRows(headers[block] as BlockHeader, counts, (rows, texts) =>
        source.copyBlock(counts, rows, texts),
      );
    }
  });
}

/** From a segment's dictionary ids to the writer's. Ids first come up in ascending order, so one page at a time does. */
class IdMap {
  readonly #segment: Segment;
  readonly #dictionary: DictionaryBuilder;
  /** Plus one; 0 is not known yet. */
  readonly #known: Uint32Array;
  #pageNumber = -1;
  #pageWords = new Uint32Array(0);

  constructor(segment: Segment, dictionary: DictionaryBuilder) {
    this.#segment = segment;
    this.#dictionary = dictionary;
    this.#known = new Uint32Array(segment.directory.addressCount);
  }

  idOf(id: number): number {
    const known = this.#known[id] as number;
    if (known > 0) return known - 1;
    const page = Math.floor(id / pageKeyCount);
    if (page !== this.#pageNumber) {
      this.#pageWords = new Uint32Array(this.#segment.readDictionaryPage(page).slice().buffer);
      this.#pageNumber = page;
    }
    const given = this.#dictionary.idOfWords(this.#pageWords, (id % pageKeyCount) * 8);
    this.#known[id] = given + 1;
    return given;
  }
}

/** Columns whose values refer to nothing outside their transaction, by the table whose rows they are. */
const PLAIN: Readonly<Record<keyof Ends, readonly ColumnName[]>> = {
  transaction: named('tx', ['txKeys', 'txSignatures', 'txErr']),
  signatureByte: ['txSignatures'],
  key: [],
  lookup: named('lookup', ['lookupIndexes']),
  lookupIndex: ['lookupIndexes'],
  instruction: named('ins', ['insOddSteps', 'insAccounts', 'insData', 'insError']),
  oddStep: ['insOddSteps'],
  account: ['insAccounts'],
  dataByte: ['insData'],
  log: named('log', ['logText']),
  logByte: ['logText'],
  balance: named('bal', []),
  tokenBalance: named('tok', []),
  reward: named('rew', ['rewKey', 'rewType']),
};

function named(prefix: string, except: readonly ColumnName[]): readonly ColumnName[] {
  return COLUMN_NAMES.filter((name) => name.startsWith(prefix) && !except.includes(name));
}

/** How far the rows of each table, and the values that several of a row share a column with, are taken. */
interface Ends {
  transaction: number;
  signatureByte: number;
  key: number;
  lookup: number;
  lookupIndex: number;
  instruction: number;
  oddStep: number;
  account: number;
  dataByte: number;
  log: number;
  logByte: number;
  balance: number;
  tokenBalance: number;
  reward: number;
}

const signatureBytes = 64;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The rows of a group, handed on block by block. */
class GroupSource {
  readonly #rows: GroupRows;
  readonly #ids: IdMap;
  readonly #texts: readonly string[];
  #taken: Ends = {
    transaction: 0,
    signatureByte: 0,
    key: 0,
    lookup: 0,
    lookupIndex: 0,
    instruction: 0,
    oddStep: 0,
    account: 0,
    dataByte: 0,
    log: 0,
    logByte: 0,
    balance: 0,
    tokenBalance: 0,
    reward: 0,
  };

  constructor(rows: GroupRows, ids: IdMap) {
    this.#rows = rows;
    this.#ids = ids;
    this.#texts = readTexts(rows);
  }

  copyBlock(counts: BlockCounts, out: GroupRows, texts: TextTable): void {
    const from = this.#taken;
    const to = this.#endsOf(counts, from);
    for (const [table, columns] of Object.entries(PLAIN)) {
      const [start, end] = [from[table as keyof Ends], to[table as keyof Ends]];
      if (end > start) for (const name of columns) copyRange(this.#rows, out, name, [start, end]);
    }
    this.#copyReferences(from, to, { out, texts });
    this.#taken = to;
  }

  #endsOf(counts: BlockCounts, from: Ends): Ends {
    const rows = this.#rows;
    const transaction = from.transaction + counts.transactions;
    const sum = (name: IntName): number => sumOf(rows[name].values, from.transaction, transaction);
    const lookup = from.lookup + sum('txLookupCount');
    const instruction = from.instruction + counts.instructions;
    const log = from.log + counts.logs;
    const sumIn = (name: IntName, start: number, end: number) =>
      sumOf(rows[name].values, start, end);
    return {
      transaction,
      signatureByte: from.signatureByte + sum('txSignatureCount') * signatureBytes,
      key:
        from.key +
        sum('txStaticCount') +
        sum('txWritableCount') +
        sum('txReadonlyCount') +
        sum('txOtherCount'),
      lookup,
      lookupIndex:
        from.lookupIndex +
        sumIn('lookupReadonlyCount', from.lookup, lookup) +
        sumIn('lookupWritableCount', from.lookup, lookup),
      instruction,
      oddStep: from.oddStep + this.#oddSteps(from.instruction, instruction),
      account: from.account + sumIn('insAccountCount', from.instruction, instruction),
      dataByte: from.dataByte + sumIn('insDataLength', from.instruction, instruction),
      log,
      logByte: from.logByte + sumIn('logLength', from.log, log),
      balance: from.balance + counts.balances,
      tokenBalance: from.tokenBalance + counts.tokenBalances,
      reward: from.reward + counts.rewards,
    };
  }

  #oddSteps(start: number, end: number): number {
    const [depths, odd] = [this.#rows.insDepth.values, this.#rows.insOdd.values];
    let steps = 0;
    for (let row = start; row < end; row++) if (odd[row] === 1) steps += depths[row] as number;
    return steps;
  }

  /** Ids and codes in the order in which the builder meets them: a transaction's, its instructions', then rewards'. */
  #copyReferences(from: Ends, to: Ends, { out, texts }: { out: GroupRows; texts: TextTable }) {
    const rows = this.#rows;
    const copyIds = (name: 'txKeys' | 'rewKey', start: number, end: number) => {
      for (const id of rows[name].values.subarray(start, end)) out[name].push(this.#ids.idOf(id));
    };
    copyIds('txKeys', from.key, to.key);
    // A getter makes a view each time: these are asked for once a block, not once a row.
    const [errs, counts] = [rows.txErr.values, rows.txInstructionCount.values];
    const [errors, rewardTypes] = [rows.insError.values, rows.rewType.values];
    let instruction = from.instruction;
    for (let row = from.transaction; row < to.transaction; row++) {
      out.txErr.push(this.#codeOf(errs[row] as number, texts));
      const end = instruction + (counts[row] as number);
      for (; instruction < end; instruction++)
        out.insError.push(this.#codeOf(errors[instruction] as number, texts));
    }
    copyIds('rewKey', from.reward, to.reward);
    for (let row = from.reward; row < to.reward; row++)
      out.rewType.push(this.#codeOf(rewardTypes[row] as number, texts));
  }

  #codeOf(code: number, texts: TextTable): number {
    return code === 0 ? 0 : texts.codeOf(this.#texts[code] as string);
  }
}

type IntName = {
  [Name in keyof GroupRows]: GroupRows[Name] extends { push(value: number): void } ? Name : never;
}[keyof GroupRows];

function readTexts({ textLength, textBytes }: GroupRows): readonly string[] {
  let at = 0;
  return Array.from(textLength.values, (length) => {
    at += length;
    return decoder.decode(textBytes.values.subarray(at - length, at));
  });
}

function sumOf(values: Uint32Array, start: number, end: number): number {
  let sum = 0;
  for (let row = start; row < end; row++) sum += values[row] as number;
  return sum;
}

/** Both columns have the type that `COLUMNS` gives the name. */
function copyRange(
  rows: GroupRows,
  out: GroupRows,
  name: ColumnName,
  [start, end]: [number, number],
): void {
  const from = rows[name] as GroupRows['txErr'];
  (out[name] as GroupRows['txErr']).append(from.values.subarray(start, end));
}
