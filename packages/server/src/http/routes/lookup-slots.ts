import { CodedError } from '@sluice/base/errors';

/** Limits how many lookups run at once. */
export class LookupSlots {
  readonly #limits: { readonly lookupCountMax: number };
  #count = 0;

  /** A reload may change the limits. */
  constructor(limits: { readonly lookupCountMax: number }) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Returns the function that frees the slot. Throws `lookups-full` when all slots are taken. */
  take(): () => void {
    if (this.#count >= this.#limits.lookupCountMax) throw new CodedError('lookups-full');
    this.#count++;
    return () => {
      this.#count--;
    };
  }
}
