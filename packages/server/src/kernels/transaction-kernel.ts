import { loadKernel } from './load-kernel.ts';

interface TransactionExports {
  initialize(): void;
  inputAddress(): number;
  voteProgramAddress(): number;
  begin(dropsVotes: number): void;
  append(length: number, index: number): number;
  columnStart(column: number): number;
  columnBytes(column: number): number;
  keysAddress(): number;
  keyCount(): number;
  textCount(): number;
  textAddress(number: number): number;
  textBytes(number: number): number;
}

/** As the kernel has it: several times the largest real transaction. */
const inputBytesMax = 256 * 1024;

/**
 * Turns the JSON of ordinary transactions into the rows of a segment. Votes and oddities it leaves to those who read JSON
 * with care; what it takes has the rows that those would give. One block at a time: its rows stay until the next begins.
 */
export class TransactionKernel {
  readonly #exports: TransactionExports;
  readonly #memory: ArrayBuffer;
  readonly #input: Uint8Array;
  /** Of errors, by number; they outlive blocks. */
  #texts: string[] = [];
  #takenCount = 0;

  constructor(voteProgram: string) {
    const { memory, exports } = loadKernel<TransactionExports>('transaction');
    exports.initialize();
    this.#exports = exports;
    // It does not grow after that.
    this.#memory = memory.buffer;
    this.#input = new Uint8Array(this.#memory, exports.inputAddress(), inputBytesMax);
    const program = Buffer.from(voteProgram, 'latin1');
    new Uint8Array(this.#memory, exports.voteProgramAddress()).set(program);
  }

  begin(dropsVotes: boolean): void {
    this.#exports.begin(dropsVotes ? 1 : 0);
    this.#takenCount = 0;
    if (this.#exports.textCount() === 0) this.#texts = [];
  }

  /** Takes a transaction, given as UTF-8; no means that it has to be read in another way. Indexes must ascend. */
  take(bytes: Uint8Array, index: number): boolean {
    if (bytes.length > inputBytesMax) return false;
    this.#input.set(bytes);
    const isTaken = this.#exports.append(bytes.length, index) !== 0;
    if (isTaken) this.#takenCount++;
    return isTaken;
  }

  get takenCount(): number {
    return this.#takenCount;
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

  /** All keys that were ever met, eight words each, by the numbers that the key lists hold. */
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

  #place(column: number): { start: number; byteLength: number } {
    const start = this.#exports.columnStart(column);
    return { start, byteLength: this.#exports.columnBytes(column) };
  }
}
