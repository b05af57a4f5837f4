/** The accounts that the next instruction names, in order, with their flags. Programs add them, and `Machine.enter` takes them. */
export const WRITABLE = 1;
export const SIGNER = 2;

/** An instruction names at most this many accounts. */
const REF_COUNT_MAX = 256;

export class RefList {
  /** The numbers of the accounts, each times 4, plus its flags. */
  readonly #refs = new Int32Array(REF_COUNT_MAX);
  count = 0;

  readonly(account: number): this {
    return this.add(account * 4);
  }

  writable(account: number): this {
    return this.add(account * 4 + WRITABLE);
  }

  signer(account: number): this {
    return this.add(account * 4 + SIGNER);
  }

  /** Adds an account that signs and pays. */
  payer(account: number): this {
    return this.add(account * 4 + WRITABLE + SIGNER);
  }

  add(ref: number): this {
    this.#refs[this.count++] = ref;
    return this;
  }

  at(index: number): number {
    return this.#refs[index] as number;
  }
}
