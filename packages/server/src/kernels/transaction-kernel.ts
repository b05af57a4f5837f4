import { type JsonScan, JsonScanner, type ScanExports } from './json-scanner.ts';
import { TX_INDEX } from './layout/columns.ts';
import { type Kernel, loadKernel } from './load-kernel.ts';

interface TransactionExports extends ScanExports {
  initialize(): void;
  voteProgramAddress(): number;
  begin(dropsVotes: number): void;
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

/**
 * Turns the JSON of a block's ordinary transactions into the rows of a segment. Oddities it leaves to those who read JSON with
 * care; what it takes has the rows that those would give. One block at a time: it is scanned, its transactions are taken where
 * they stand, and its rows stay until the next begins.
 */
export class TransactionKernel {
  readonly #kernel: Kernel<TransactionExports>;
  readonly #exports: TransactionExports;
  readonly #scanner: JsonScanner;
  /** Of errors, by number; they outlive blocks. */
  #texts: string[] = [];

  constructor(voteProgram: string) {
    this.#kernel = loadKernel<TransactionExports>('transaction');
    const { memory, exports } = this.#kernel;
    exports.initialize();
    this.#exports = exports;
    this.#scanner = new JsonScanner(this.#kernel);
    const program = Buffer.from(voteProgram, 'latin1');
    new Uint8Array(memory.buffer, exports.voteProgramAddress()).set(program);
  }

  /** Scans a block. What was found stands where the transactions are taken from. */
  scan(bytes: Uint8Array, depthMax: number): JsonScan {
    return this.#scanner.scan(bytes, depthMax);
  }

  /** Begins the rows of a block. */
  begin(dropsVotes: boolean): void {
    this.#exports.begin(dropsVotes ? 1 : 0);
    if (this.#exports.textCount() === 0) this.#texts = [];
  }

  /**
   * Takes the parts of the scanned block from `first` on, before `last`, which are transactions from `index` on. Returns the
   * first that has to be read in another way, `last` if there is none. Indexes must ascend.
   */
  takeParts(first: number, last: number, index: number): number {
    return this.#exports.takeParts(first, last, index);
  }

  /** How many votes were dropped since the block began. */
  get droppedVoteCount(): number {
    return this.#exports.droppedVoteCount();
  }

  /** How many of the transactions that were taken since the block began have a log that was cut off. */
  get truncatedLogCount(): number {
    return this.#exports.truncatedLogCount();
  }

  /** How many transactions have rows. */
  get takenCount(): number {
    return this.#exports.columnBytes(TX_INDEX) / 4;
  }

  ints(column: number): Uint32Array {
    const { start, byteLength } = this.#place(column);
    return new Uint32Array(this.#memory, start, byteLength / 4);
  }

  longs(column: number): BigUint64Array {
    const { start, byteLength } = this.#place(column);
    return new BigUint64Array(this.#memory, start, byteLength / 8);
  }

  bytes(column: number): Uint8Array {
    const { start, byteLength } = this.#place(column);
    return new Uint8Array(this.#memory, start, byteLength);
  }

  /** The keys of the block, eight words each, by the ids that the key lists hold. */
  get keys(): Uint32Array {
    return new Uint32Array(this.#memory, this.#exports.keysAddress(), this.#exports.keyCount() * 8);
  }

  /** The texts that rows name by number: JSON as it goes out. Number 0 is null. */
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

  /** It is replaced when a longer block than any before is scanned. */
  get #memory(): ArrayBuffer {
    return this.#kernel.memory.buffer;
  }

  #place(column: number): { start: number; byteLength: number } {
    const start = this.#exports.columnStart(column);
    return { start, byteLength: this.#exports.columnBytes(column) };
  }
}
