import { assert } from '@sluice/base/assert';
import type { ByteReader } from '../encoding/byte-stream.ts';
import { damaged } from '../encoding/unit.ts';
import { DOMAINS } from './columns.ts';
import type { GroupEntry, SectionRange } from './group-entry.ts';

/** Where the numbers of a group are in its part of the array. */
const firstBlockAt = 0;
const blockCountAt = 1;
const firstTransactionAt = 2;
const transactionCountAt = 3;
const highestBeforeAt = 4;
const pageTransactionsAt = 5;
const pageTableOffsetAt = 6;
const pageTableLengthAt = 7;
const totalsAt = 8;
const sectionsAt = totalsAt + DOMAINS.length;
/** The numbers of a section: its offset, its stored length, and the size of its longest page. */
const sectionNumbers = 3;

/**
 * A row group of an open segment. The groups of a segment share one array of numbers: a service has thousands of open segments, and
 * objects for every section of every group would be most of what the garbage collector has to visit.
 */
export class StoredGroup implements GroupEntry {
  readonly sectionCount: number;
  readonly #numbers: Float64Array;
  readonly #at: number;

  private constructor(numbers: Float64Array, at: number, sectionCount: number) {
    this.#numbers = numbers;
    this.#at = at;
    this.sectionCount = sectionCount;
  }

  static readAll(reader: ByteReader, groupCount: number, sectionCount: number): StoredGroup[] {
    const stride = sectionsAt + sectionCount * sectionNumbers;
    // A group takes at least this many numbers of the directory. A count that is too large is refused before anything is allocated.
    reader.checkCount(groupCount * (sectionsAt + sectionCount * 2));
    const numbers = new Float64Array(groupCount * stride);
    const groups: StoredGroup[] = [];
    for (let at = 0; at < numbers.length; at += stride) {
      readNumbers(reader, numbers, at, sectionCount);
      groups.push(new StoredGroup(numbers, at, sectionCount));
    }
    return groups;
  }

  get firstBlock(): number {
    return this.#number(firstBlockAt);
  }

  get blockCount(): number {
    return this.#number(blockCountAt);
  }

  get firstTransaction(): number {
    return this.#number(firstTransactionAt);
  }

  get transactionCount(): number {
    return this.#number(transactionCountAt);
  }

  get highestBefore(): number {
    return this.#number(highestBeforeAt);
  }

  get pageTransactions(): number {
    return this.#number(pageTransactionsAt);
  }

  get pageTable(): GroupEntry['pageTable'] {
    return { offset: this.#number(pageTableOffsetAt), length: this.#number(pageTableLengthAt) };
  }

  get end(): number {
    if (this.sectionCount === 0) return 0;
    const { offset, storedLength } = this.sectionAt(this.sectionCount - 1);
    return offset + storedLength;
  }

  get totals(): number[] {
    return DOMAINS.map((_, domain) => this.totalOf(domain));
  }

  get sections(): SectionRange[] {
    return Array.from({ length: this.sectionCount }, (_, section) => this.sectionAt(section));
  }

  totalOf(domain: number): number {
    return this.#number(totalsAt + domain);
  }

  sectionAt(section: number): SectionRange {
    assert(section < this.sectionCount, 'the segment has the section');
    const at = sectionsAt + section * sectionNumbers;
    return {
      offset: this.#number(at),
      storedLength: this.#number(at + 1),
      rawBytesMax: this.#number(at + 2),
    };
  }

  #number(index: number): number {
    return this.#numbers[this.#at + index] as number;
  }
}

function readNumbers(
  reader: ByteReader,
  numbers: Float64Array,
  at: number,
  sectionCount: number,
): void {
  for (let i = firstBlockAt; i < highestBeforeAt; i++) numbers[at + i] = reader.int();
  numbers[at + highestBeforeAt] = reader.int() | 0;
  const pageTransactions = reader.int();
  if (pageTransactions === 0) throw damaged('directory', 'a row group has pages without rows');
  numbers[at + pageTransactionsAt] = pageTransactions;
  for (let i = totalsAt; i < sectionsAt; i++) numbers[at + i] = reader.int();
  const [offset, length] = [reader.long(), reader.int()];
  numbers[at + pageTableOffsetAt] = offset;
  numbers[at + pageTableLengthAt] = length;
  let start = offset + length;
  for (let section = 0; section < sectionCount; section++) {
    const entry = at + sectionsAt + section * sectionNumbers;
    const storedLength = reader.int();
    numbers[entry] = start;
    numbers[entry + 1] = storedLength;
    numbers[entry + 2] = reader.int();
    start += storedLength;
  }
}
