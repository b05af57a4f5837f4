import { CodedError } from '@sluice/base/errors';

export interface LookupSlotLimits {
  readonly lookupCountMax: number;
  readonly clientLookupCountMax: number;
}

/** Limits how many lookups run at once, in all and for each client. */
export class LookupSlots {
  readonly #limits: LookupSlotLimits;
  /** The clients that have lookups. */
  readonly #clients = new Map<string, number>();
  #count = 0;

  /** A reload may change the limits. */
  constructor(limits: LookupSlotLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Returns the function that frees the slot. Throws `lookups-full` when all slots, or all of the client, are taken. */
  take(client: string): () => void {
    const { lookupCountMax, clientLookupCountMax } = this.#limits;
    const ofClient = this.#clients.get(client) ?? 0;
    if (this.#count >= lookupCountMax || ofClient >= clientLookupCountMax)
      throw new CodedError('lookups-full');
    this.#count++;
    this.#clients.set(client, ofClient + 1);
    return () => {
      this.#count--;
      const rest = (this.#clients.get(client) ?? 0) - 1;
      if (rest > 0) this.#clients.set(client, rest);
      else this.#clients.delete(client);
    };
  }
}
