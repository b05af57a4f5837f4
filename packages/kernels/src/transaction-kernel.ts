import { copyBytes } from '@sluice/base/memory/copy-bytes';
import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import { type JsonScan, JsonScanner, type ScanExports } from './json-scanner.ts';
import { INS_ERROR, TX_ERR, TX_INDEX } from './layout/columns.ts';
import { ERROR_NAME_BYTES, POSITION_COUNT_MAX } from './layout/reading.ts';
import { loadKernel } from './load-kernel.ts';

interface TransactionExports extends ScanExports {
  initialize(): void;
  voteProgramAddress(): number;
  errorNamesAddress(): number;
  defineErrors(count: number): void;
  binaryBytes(length: number): number;
  begin(dropsVotes: number, isBinary: number): void;
  positionsAddress(): number;
  sectionsAddress(): number;
  listNodes(offset: number, length: number): number;
  listedCount(): number;
  takeConfirmed(first: number, last: number): number;
  takeNodes(first: number, last: number, slot: number): number;
  takeParts(first: number, last: number, index: number): number;
  droppedVoteCount(): number;
  truncatedLogCount(): number;
  columnStart(column: number): number;
  columnBytes(column: number): number;
  keysAddress(): number;
  keyCount(): number;
  textCount(): number;
  textAddress(number: number): number;
  textBytes(number: number): number;
}

/** The nodes of a block of an archive: start and end, alternating. */
export interface ListedNodes {
  /** All nodes, in the order of their bytes. Valid until the next block. */
  readonly sections: Uint32Array;
  /** The transactions in the order of their execution. */
  readonly transactions: Uint32Array;
}

/** Texts of the ledger that the kernel compares with or writes. */
export interface KernelTexts {
  readonly voteProgram: string;
  /** The names of instruction errors by their numbers. */
  readonly instructionErrors: readonly string[];
}

/**
 * Converts a block's ordinary transactions, in JSON or in a binary form, to the rows of a segment. It leaves unusual transactions to the general reader, and
 * its rows are the same as those of that reader. It processes one block at a time: the block is scanned, its transactions are read in
 * place, and its rows stay until the next block begins.
 */
export class TransactionKernel {
  readonly #kernel: Kernel<TransactionExports>;
  readonly #exports: TransactionExports;
  readonly #scanner: JsonScanner;
  /** Texts of errors by number. They are kept across blocks. */
  #texts: string[] = [];

  constructor({ voteProgram, instructionErrors }: KernelTexts) {
    this.#kernel = loadKernel<TransactionExports>('transaction');
    const { memory, exports } = this.#kernel;
    exports.initialize();
    this.#exports = exports;
    this.#scanner = new JsonScanner(this.#kernel);
    const program = Buffer.from(voteProgram, 'latin1');
    new Uint8Array(memory.buffer, exports.voteProgramAddress()).set(program);
    const names = new Uint8Array(memory.buffer, exports.errorNamesAddress());
    for (const [number, name] of instructionErrors.entries()) {
      names.set([name.length, ...Buffer.from(name, 'latin1')], number * ERROR_NAME_BYTES);
    }
    exports.defineErrors(instructionErrors.length);
  }

  /** Scans a block. `takeParts` reads the transactions from the result. */
  scan(bytes: Uint8Array, depthMax: number): JsonScan {
    return this.#scanner.scan(bytes, depthMax);
  }

  /** Starts the rows of a block of JSON, which was scanned. */
  begin(dropsVotes: boolean): void {
    this.#begin(dropsVotes, false);
  }

  /** Copies a block in a binary form into the memory of the kernel and starts its rows. */
  beginBinary(bytes: Uint8Array, dropsVotes: boolean): void {
    const { memory } = this.#kernel;
    ensureMemory(memory, this.#exports.binaryBytes(bytes.length));
    copyBytes(new Uint8Array(memory.buffer), this.#exports.inputAddress(), bytes);
    this.#begin(dropsVotes, true);
  }

  #begin(dropsVotes: boolean, isBinary: boolean): void {
    this.#exports.begin(dropsVotes ? 1 : 0, isBinary ? 1 : 0);
    if (this.#exports.textCount() === 0) this.#texts = [];
  }

  /** Lists the nodes of a block of an archive from an offset on. Returns undefined if they are not in the usual order. */
  listNodes(offset: number, length: number): ListedNodes | undefined {
    const count = this.#exports.listNodes(offset, length);
    if (count === 0) return undefined;
    const sections = new Uint32Array(this.#memory, this.#exports.sectionsAddress(), count * 2);
    const listedCount = this.#exports.listedCount();
    return { sections, transactions: this.#positions(listedCount).slice() };
  }

  /** Sets the positions of the transactions of a binary block: start and end, alternating. The kernel reads only as many as it can list. */
  setPositions(positions: Uint32Array): void {
    const listed = positions.subarray(0, POSITION_COUNT_MAX * 2);
    this.#positions(listed.length / 2).set(listed);
  }

  #positions(count: number): Uint32Array {
    return new Uint32Array(this.#memory, this.#exports.positionsAddress(), count * 2);
  }

  /** Reads the protobufs of the transactions from `first` up to `last`. Returns the first one that must be read in another way, or `last`. */
  takeConfirmed(first: number, last: number): number {
    const end = Math.min(last, POSITION_COUNT_MAX);
    return first < end ? this.#exports.takeConfirmed(first, end) : first;
  }

  /** Like `takeConfirmed`, for transaction nodes of an archive. */
  takeNodes(first: number, last: number, slot: number): number {
    const end = Math.min(last, POSITION_COUNT_MAX);
    return first < end ? this.#exports.takeNodes(first, end, slot) : first;
  }

  /**
   * Reads the parts of the scanned block from `first` up to `last`, which are the transactions from `index` on. Returns the first part that
   * must be read in another way, or `last`. Indexes must ascend.
   */
  takeParts(first: number, last: number, index: number): number {
    return this.#exports.takeParts(first, last, index);
  }

  /** How many votes were dropped since the start of the block. */
  get droppedVoteCount(): number {
    return this.#exports.droppedVoteCount();
  }

  /** How many of the block's accepted transactions have a truncated log. */
  get truncatedLogCount(): number {
    return this.#exports.truncatedLogCount();
  }

  /** How many transactions have rows. */
  get takenCount(): number {
    return this.#exports.columnBytes(TX_INDEX) / 4;
  }

  ints(column: number): Uint32Array {
    const { start, byteLength } = this.#locate(column);
    return new Uint32Array(this.#memory, start, byteLength / 4);
  }

  longs(column: number): BigUint64Array {
    const { start, byteLength } = this.#locate(column);
    return new BigUint64Array(this.#memory, start, byteLength / 8);
  }

  bytes(column: number): Uint8Array {
    const { start, byteLength } = this.#locate(column);
    return new Uint8Array(this.#memory, start, byteLength);
  }

  /** The keys of the block, eight words each, by the ids in the key lists. */
  get keys(): Uint32Array {
    return new Uint32Array(this.#memory, this.#exports.keysAddress(), this.#exports.keyCount() * 8);
  }

  /** The texts that rows refer to by number, as output JSON. Number 0 is null. */
  get texts(): readonly string[] {
    const count = this.#exports.textCount();
    if (this.#texts.length === 0) this.#texts.push('null');
    for (let number = this.#texts.length; number <= count; number++) {
      const start = this.#exports.textAddress(number);
      const length = this.#exports.textBytes(number);
      this.#texts.push(Buffer.from(this.#memory, start, length).toString());
    }
    return this.#texts;
  }

  /** Returns the texts that rows of this block refer to, one after another, and their lengths by number. Other texts have the length 0. */
  usedTexts(): { readonly lengths: Uint32Array; readonly bytes: Uint8Array } {
    const known = this.texts;
    const used = findNumbers([this.ints(TX_ERR), this.ints(INS_ERROR)]);
    const texts = used.map((number) => Buffer.from(known[number] ?? ''));
    const lengths = new Uint32Array((used.at(-1) ?? -1) + 1);
    used.forEach((number, i) => {
      lengths[number] = texts[i]?.length ?? 0;
    });
    return { lengths, bytes: Buffer.concat(texts) };
  }

  /** The kernel's memory has another buffer after a block that is longer than all before it. */
  get #memory(): ArrayBuffer {
    return this.#kernel.memory.buffer;
  }

  #locate(column: number): { start: number; byteLength: number } {
    const start = this.#exports.columnStart(column);
    return { start, byteLength: this.#exports.columnBytes(column) };
  }
}

/**
 * Returns the different values above 0, ascending. It is a function of its own, because V8 spent up to a second on optimizing this loop inside
 * of a larger one.
 */
function findNumbers(lists: readonly Uint32Array[]): number[] {
  const numbers = new Set<number>();
  for (const list of lists) for (const value of list) if (value !== 0) numbers.add(value);
  return [...numbers].sort((a, b) => a - b);
}
