import { copyBytes } from '@sluice/base/memory/copy-bytes';
import { ensureMemory, type Kernel } from '@sluice/base/wasm-kernel';
import { type JsonScan, JsonScanner, type ScanExports } from './json-scanner.ts';
import { TX_INDEX } from './layout/columns.ts';
import { ERROR_NAME_BYTES } from './layout/reading.ts';
import { loadKernel } from './load-kernel.ts';

interface TransactionExports extends ScanExports {
  initialize(): void;
  voteProgramAddress(): number;
  errorNamesAddress(): number;
  defineErrors(count: number): void;
  binaryBytes(length: number): number;
  begin(dropsVotes: number, isBinary: number): void;
  takeConfirmed(offset: number, length: number, index: number): number;
  takeNode(offset: number, length: number, index: number, slot: number): number;
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

/** A range of the bytes of a block. */
export interface BytePosition {
  readonly at: number;
  readonly end: number;
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

  /** Reads the protobuf of a transaction at a position of the block. Returns false if it must be read in another way. */
  takeConfirmed({ at, end }: BytePosition, index: number): boolean {
    return this.#exports.takeConfirmed(at, end - at, index) !== 0;
  }

  /** Reads a transaction node of an archive at a position of the block. Returns false if it must be read in another way. */
  takeNode({ at, end }: BytePosition, index: number, slot: number): boolean {
    return this.#exports.takeNode(at, end - at, index, slot) !== 0;
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

  /** The kernel's memory has another buffer after a block that is longer than all before it. */
  get #memory(): ArrayBuffer {
    return this.#kernel.memory.buffer;
  }

  #locate(column: number): { start: number; byteLength: number } {
    const start = this.#exports.columnStart(column);
    return { start, byteLength: this.#exports.columnBytes(column) };
  }
}
