/**
 * Classes of instructions: a program, the first bytes of the data and whether the instruction was committed, with the transactions that
 * have such instructions. A filter by program and discriminator takes its candidates from here without reading a column, and statistics of
 * a segment need no scan.
 *
 * The data of a program determines how many bytes distinguish its classes: 8 if they are discriminators, fewer if a short discriminator is
 * followed by amounts, which would create a class for nearly every instruction.
 */
import { growTo } from '../encoding/growable.ts';
import { unite } from './ascending-lists.ts';

export interface InstructionClass {
  readonly program: number;
  /** The first bytes of the data, at most 8. */
  readonly prefix: Uint8Array;
  /** Whether the data has no bytes after the prefix. */
  readonly isWhole: boolean;
  /** As in the column `insFlags`: 0 no, 1 yes, 2 unknown. */
  readonly committed: number;
  readonly instructionCount: number;
  /** Ascending, numbered from the segment's first transaction. */
  readonly transactions: Uint32Array;
}

const prefixBytesMax = 8;
/** If a program has more classes than this, fewer bytes distinguish them. */
const programClassesMax = 256;

/** An instruction: the first 8 bytes of its data as two numbers, padded with zeros, and the length of the data. */
export interface ClassKey {
  readonly low: number;
  readonly high: number;
  readonly length: number;
  readonly committed: number;
}

class OpenClass implements ClassKey {
  readonly low: number;
  readonly high: number;
  readonly length: number;
  readonly committed: number;
  instructionCount = 0;
  transactions: Uint32Array = new Uint32Array(4);
  transactionCount = 0;

  constructor({ low, high, length, committed }: ClassKey) {
    this.low = low;
    this.high = high;
    this.length = length;
    this.committed = committed;
  }

  add(transaction: number): void {
    this.instructionCount++;
    if (this.transactionCount > 0 && this.transactions[this.transactionCount - 1] === transaction)
      return;
    this.transactions = growTo(this.transactions, this.transactionCount + 1);
    this.transactions[this.transactionCount++] = transaction;
  }
}

class ProgramClasses {
  bytes = prefixBytesMax;
  /** By the low half of the prefix, the few classes that share it. */
  readonly classes = new Map<number, OpenClass[]>();
  count = 0;

  classOf({ low, high, length: dataLength, committed }: ClassKey): OpenClass {
    const length = Math.min(dataLength, this.bytes);
    const ownLow = length >= 4 ? low : low & ((1 << (length * 8)) - 1);
    const ownHigh = length >= 8 ? high : length > 4 ? high & ((1 << ((length - 4) * 8)) - 1) : 0;
    const list = this.classes.get(ownLow);
    if (list !== undefined) {
      for (const known of list)
        if (known.high === ownHigh && known.length === length && known.committed === committed)
          return known;
    }
    const added = new OpenClass({ low: ownLow, high: ownHigh, length, committed });
    if (list === undefined) this.classes.set(ownLow, [added]);
    else list.push(added);
    this.count++;
    return added;
  }

  /** Halves the number of distinguishing bytes until there are few enough classes. */
  shorten(): void {
    while (this.count > programClassesMax && this.bytes > 0) {
      this.bytes >>>= 1;
      const before = [...this.classes.values()].flat();
      this.classes.clear();
      this.count = 0;
      for (const longer of before) {
        const joined = this.classOf(longer);
        joined.instructionCount += longer.instructionCount;
        joined.transactions = unite([
          joined.transactions.subarray(0, joined.transactionCount),
          longer.transactions.subarray(0, longer.transactionCount),
        ]);
        joined.transactionCount = joined.transactions.length;
      }
    }
  }
}

export class ClassIndexBuilder {
  readonly #programs = new Map<number, ProgramClasses>();

  /** Transactions must ascend. */
  add(program: number, transaction: number, key: ClassKey): void {
    let classes = this.#programs.get(program);
    if (classes === undefined) {
      classes = new ProgramClasses();
      this.#programs.set(program, classes);
    }
    const count = classes.count;
    classes.classOf(key).add(transaction);
    if (classes.count > count) classes.shorten();
  }

  /** Sorted by program id, then by prefix. */
  get classes(): InstructionClass[] {
    return [...this.#programs]
      .sort(([a], [b]) => a - b)
      .flatMap(([program, { bytes, classes }]) =>
        [...classes.values()]
          .flat()
          .map(
            (counted): InstructionClass => ({
              program,
              prefix: prefixOf(counted),
              isWhole: counted.length < bytes,
              committed: counted.committed,
              instructionCount: counted.instructionCount,
              transactions: counted.transactions.subarray(0, counted.transactionCount),
            }),
          )
          .sort(byPrefix),
      );
  }
}

function byPrefix(a: InstructionClass, b: InstructionClass): number {
  const order = Buffer.compare(a.prefix, b.prefix);
  return order || Number(b.isWhole) - Number(a.isWhole) || a.committed - b.committed;
}

function prefixOf({ low, high, length }: OpenClass): Uint8Array {
  const bytes = new Uint8Array(prefixBytesMax);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, low, true);
  view.setUint32(4, high, true);
  return bytes.subarray(0, length);
}

/** Returns whether instructions of the class can start with the bytes. */
export function canBeginWith(
  { prefix, isWhole }: Pick<InstructionClass, 'prefix' | 'isWhole'>,
  bytes: Uint8Array,
): boolean {
  if (isWhole && prefix.length < bytes.length) return false;
  const shared = Math.min(prefix.length, bytes.length);
  for (let i = 0; i < shared; i++) if (prefix[i] !== bytes[i]) return false;
  return true;
}
