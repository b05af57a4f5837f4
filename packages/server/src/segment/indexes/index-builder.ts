/** Collects the content of a segment's indexes, one row group after another. */
import { elementAt } from '@sluice/base/element-at';
import { INS_FLAGS_OUTCOME_MASK } from '@sluice/kernels/layout/columns';
import { growTo } from '../encoding/growable.ts';
import { VarintWriter } from '../encoding/varint.ts';
import { type DictionaryBuilder, hashWords } from '../layout/dictionary.ts';
import { busiestAccountsMax } from '../layout/limits.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import { lowerBound } from './ascending-lists.ts';
import { ClassIndexBuilder, type ClassKey, type InstructionClass } from './class-index.ts';
import { buildHashIndex, type HashIndex } from './hash-index.ts';
import { PostingsBuilder } from './postings.ts';

const signatureWords = 16;

/** The columns of tables, in the order of their numbers. */
export interface IndexTables {
  readonly postings: readonly Uint8Array[];
  /**
   * program · prefix length, whether the data ends there, committed · prefixes · instruction counts · transaction counts · list lengths ·
   * lists
   */
  readonly classes: readonly (Uint32Array | Uint8Array)[];
  /** mint · number of token balance records */
  readonly mints: readonly Uint32Array[];
  /** account · number of transactions */
  readonly accounts: readonly Uint32Array[];
}

export class IndexBuilder {
  readonly #postings = new PostingsBuilder();
  readonly #classes = new ClassIndexBuilder();
  /** The number of token balances of each mint, by the id of the mint. */
  #mintCounts: Uint32Array = new Uint32Array(256);
  #signatureHashes: Uint32Array = new Uint32Array(256);
  #signatureTransactions: Uint32Array = new Uint32Array(256);
  signatureCount = 0;

  addGroup(rows: GroupRows, firstTransaction: number): void {
    this.#addSignatures(rows, firstTransaction);
    const keys = rows.txKeys.values;
    const starts = keyStarts(rows);
    const keysOfClasses = new ClassKeys(rows);
    const [programs, tokens] = [rows.insProgram.values, tokenColumns(rows)];
    const instructionCounts = rows.txInstructionCount.values;
    const tokenCounts = rows.txTokenBalanceCount.values;
    let [instruction, token] = [0, 0];
    for (let row = 0; row < instructionCounts.length; row++) {
      const transaction = firstTransaction + row;
      const start = starts[row] as number;
      this.#postings.add(transaction, keys.subarray(start, starts[row + 1]));
      const instructionEnd = instruction + (instructionCounts[row] as number);
      for (; instruction < instructionEnd; instruction++) {
        const program = keys[start + (programs[instruction] as number)] as number;
        this.#classes.add(program, transaction, keysOfClasses.next());
      }
      const tokenEnd = token + (tokenCounts[row] as number);
      for (; token < tokenEnd; token++) this.#countMint(mintPosition(tokens, token), keys, start);
    }
  }

  buildHashIndexes(dictionary: DictionaryBuilder): { addresses: HashIndex; signatures: HashIndex } {
    const { count, keys } = dictionary;
    const words = new Uint32Array(keys.buffer, keys.byteOffset, count * 8);
    const hashes = new Uint32Array(count);
    const ids = new Uint32Array(count);
    for (let id = 0; id < count; id++) {
      hashes[id] = hashWords(words, id * 8);
      ids[id] = id;
    }
    return {
      addresses: buildHashIndex({ hashes, values: ids }),
      signatures: buildHashIndex({
        hashes: this.#signatureHashes.subarray(0, this.signatureCount),
        values: this.#signatureTransactions.subarray(0, this.signatureCount),
      }),
    };
  }

  buildTables(addressCount: number): IndexTables {
    const { pages, counts } = this.#postings.build(addressCount);
    const mints: number[] = [];
    for (let id = 0; id < this.#mintCounts.length; id++)
      if (this.#mintCounts[id] !== 0) mints.push(id);
    return {
      postings: pages,
      classes: classColumns(this.#classes.classes),
      mints: withCounts(mints, this.#mintCounts),
      accounts: busiest(counts),
    };
  }

  #addSignatures(rows: GroupRows, firstTransaction: number): void {
    const bytes = rows.txSignatures.values;
    // A view of 32-bit words requires an offset that is a multiple of four.
    const words = new Uint32Array(bytes.slice().buffer);
    const count = words.length / signatureWords;
    this.#signatureHashes = growTo(this.#signatureHashes, this.signatureCount + count);
    this.#signatureTransactions = growTo(this.#signatureTransactions, this.signatureCount + count);
    let signature = 0;
    const counts = rows.txSignatureCount.values;
    let transaction = firstTransaction;
    for (const signatureCount of counts) {
      for (let i = 0; i < signatureCount; i++, signature++) {
        const hash = hashWords(words, signature * signatureWords, signatureWords);
        this.#signatureHashes[this.signatureCount] = hash;
        this.#signatureTransactions[this.signatureCount++] = transaction;
      }
      transaction++;
    }
  }

  #countMint(position: number | undefined, keys: Uint32Array, start: number): void {
    if (position === undefined) return;
    const id = keys[start + position] as number;
    this.#mintCounts = growTo(this.#mintCounts, id + 1);
    this.#mintCounts[id] = (this.#mintCounts[id] ?? 0) + 1;
  }
}

function keyStarts(rows: GroupRows): Uint32Array {
  const lists = [rows.txStaticCount, rows.txWritableCount, rows.txReadonlyCount, rows.txOtherCount];
  const columns = lists.map(({ values }) => values);
  const starts = new Uint32Array(rows.txIndex.length + 1);
  for (let row = 0; row < rows.txIndex.length; row++) {
    let count = 0;
    for (const column of columns) count += column[row] as number;
    starts[row + 1] = (starts[row] as number) + count;
  }
  return starts;
}

/** The class key of each instruction, one after the other. */
class ClassKeys {
  readonly #bytes: Uint8Array;
  readonly #lengths: Uint32Array;
  readonly #flags: Uint32Array;
  /** Reused for each instruction. */
  readonly #key = { low: 0, high: 0, length: 0, committed: 0 };
  #row = 0;
  #at = 0;

  constructor(rows: GroupRows) {
    this.#bytes = rows.insData.values;
    this.#lengths = rows.insDataLength.values;
    this.#flags = rows.insFlags.values;
  }

  next(): ClassKey {
    const key = this.#key;
    key.committed = (this.#flags[this.#row] as number) & INS_FLAGS_OUTCOME_MASK;
    key.length = this.#lengths[this.#row++] as number;
    key.low = this.#half(0);
    key.high = this.#half(4);
    this.#at += key.length;
    return key;
  }

  #half(first: number): number {
    const bytes = this.#bytes;
    const at = this.#at + first;
    const { length } = this.#key;
    if (first + 4 <= length) {
      const word =
        (bytes[at] ?? 0) |
        ((bytes[at + 1] ?? 0) << 8) |
        ((bytes[at + 2] ?? 0) << 16) |
        ((bytes[at + 3] ?? 0) << 24);
      return word >>> 0;
    }
    let word = 0;
    for (let i = first; i < length; i++)
      word |= (bytes[this.#at + i] as number) << ((i - first) * 8);
    return word >>> 0;
  }
}

interface TokenColumns {
  readonly pre: Uint32Array;
  readonly post: Uint32Array;
}

const tokenColumns = (rows: GroupRows): TokenColumns => ({
  pre: rows.tokPreMint.values,
  post: rows.tokPostMint.values,
});

/** Returns the position of the mint after the transaction, or before it if the account was closed. */
function mintPosition({ pre, post }: TokenColumns, row: number): number | undefined {
  const after = post[row] as number;
  if (after > 1) return after - 2;
  const before = pre[row] as number;
  return before === 0 ? undefined : before - 1;
}

const prefixBytes = 8;
const wholeBit = 16;
const committedScale = 32;

function classColumns(classes: readonly InstructionClass[]): (Uint32Array | Uint8Array)[] {
  const prefixes = new Uint8Array(classes.length * prefixBytes);
  const lists = new VarintWriter();
  const lengths = classes.map(({ prefix, transactions }, i) => {
    prefixes.set(prefix, i * prefixBytes);
    return writeDistances(lists, transactions);
  });
  const column = (value: (instructionClass: InstructionClass) => number) =>
    Uint32Array.from(classes, value);
  return [
    column(({ program }) => program),
    column(
      ({ prefix, isWhole, committed }) =>
        prefix.length + (isWhole ? wholeBit : 0) + committed * committedScale,
    ),
    prefixes,
    column(({ instructionCount }) => instructionCount),
    column(({ transactions }) => transactions.length),
    Uint32Array.from(lengths),
    lists.bytes.slice(),
  ];
}

/** Writes an ascending list. Returns the number of its bytes. */
function writeDistances(out: VarintWriter, values: Uint32Array): number {
  const before = out.bytes.length;
  let last = -1;
  for (const value of values) {
    out.write(value - last - 1);
    last = value;
  }
  return out.bytes.length - before;
}

/** Reads a table written by `classColumns`. Lists are decoded on demand. */
export interface ClassTable {
  readonly count: number;
  /** Returns the range of a program's classes. The end is exclusive. */
  ofProgram(program: number): readonly [first: number, end: number];
  row(
    number: number,
  ): Omit<InstructionClass, 'transactions'> & { readonly transactionCount: number };
  transactions(number: number): Uint32Array;
}

/** The columns of a table of classes. `lengths` has the length in bytes of each list. */
export interface ClassColumns {
  readonly programs: Uint32Array;
  readonly shapes: Uint32Array;
  readonly prefixes: Uint8Array;
  readonly instructionCounts: Uint32Array;
  readonly transactionCounts: Uint32Array;
  readonly lengths: Uint32Array;
  readonly lists: Uint8Array;
}

export function openClassTable(columns: ClassColumns): ClassTable {
  const { programs, shapes, prefixes, instructionCounts, transactionCounts, lengths, lists } =
    columns;
  const ends = new Uint32Array(lengths.length);
  let [sum, count] = [0, 0];
  for (const length of lengths) {
    sum += length;
    ends[count++] = sum;
  }
  return {
    count: programs.length,
    ofProgram: (program) => [lowerBound(programs, program), lowerBound(programs, program + 1)],
    row: (i) => {
      const shape = elementAt(shapes, i);
      return {
        program: elementAt(programs, i),
        prefix: prefixes.subarray(i * prefixBytes, i * prefixBytes + (shape % wholeBit)),
        isWhole: (shape & wholeBit) !== 0,
        committed: Math.floor(shape / committedScale),
        instructionCount: elementAt(instructionCounts, i),
        transactionCount: elementAt(transactionCounts, i),
      };
    },
    transactions: (i) => {
      const end = elementAt(ends, i);
      const list = lists.subarray(end - elementAt(lengths, i), end);
      return readDistances(list, elementAt(transactionCounts, i));
    },
  };
}

function readDistances(bytes: Uint8Array, count: number): Uint32Array {
  const values = new Uint32Array(count);
  let [at, last] = [0, -1];
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++] as number;
    let distance = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = bytes[at++] as number;
      distance |= (byte & 0x7f) << shift;
    }
    last += distance + 1;
    values[i] = last;
  }
  return values;
}

/** Returns the accounts with the most transactions, busiest first, and these numbers. */
function busiest(counts: Uint32Array): Uint32Array[] {
  const least = counts.slice().sort().at(-busiestAccountsMax) ?? 0;
  const ids: number[] = [];
  let id = 0;
  for (const count of counts) {
    if (count >= least) ids.push(id);
    id++;
  }
  ids.sort((a, b) => elementAt(counts, b) - elementAt(counts, a) || a - b);
  return withCounts(ids.slice(0, busiestAccountsMax), counts);
}

function withCounts(ids: readonly number[], counts: Uint32Array): Uint32Array[] {
  const kept = Uint32Array.from(ids);
  return [kept, kept.map((id) => elementAt(counts, id))];
}
