import { CodedError } from '../base/errors.ts';
import { type ApiKey, keyId } from './api-keys.ts';
import type { ByteMeter } from './byte-meter.ts';
import type { KeyBudgets } from './key-budgets.ts';

/** A place among the open streams. Its signal ends the stream: the client left, or the service closes. */
export interface StreamPlace {
  readonly signal: AbortSignal;
  /** Resolves when so many bytes may go out, or when the signal aborts; undefined if that is now. */
  readonly pace: (byteCount: number) => Promise<void> | undefined;
  /** Gives the place back; once is enough. */
  readonly leave: () => void;
}

/** Everyone who has a stream open. */
export class StreamPlaces {
  readonly #keys = new Map<AbortController, ApiKey | null>();
  readonly #limits: { readonly streamCountMax: number };
  readonly #budgets: KeyBudgets;
  readonly #unsent: ByteMeter;
  #isClosed = false;

  /** The limits may change under way; those in force when a place is asked for count. */
  constructor(
    limits: { readonly streamCountMax: number },
    { budgets, unsent }: { readonly budgets: KeyBudgets; readonly unsent: ByteMeter },
  ) {
    this.#limits = limits;
    this.#budgets = budgets;
    this.#unsent = unsent;
  }

  get count(): number {
    return this.#keys.size;
  }

  take(key: ApiKey | null): StreamPlace {
    if (this.#isClosed) throw new CodedError('service-closing');
    if (this.#keys.size >= this.#limits.streamCountMax) throw new CodedError('streams-full');
    if (this.#unsent.isFull) throw new CodedError('readers-too-slow');
    const id = key === null ? null : keyId(key);
    const giveBack = id === null ? undefined : this.#budgets.takeStream(id);
    const controller = new AbortController();
    const { signal } = controller;
    this.#keys.set(controller, key);
    return {
      signal,
      pace: (byteCount) =>
        id === null ? undefined : this.#budgets.takeBytes(id, byteCount, signal),
      leave: () => {
        if (!this.#keys.delete(controller)) return;
        giveBack?.();
        controller.abort();
      },
    };
  }

  /** Streams whose key is no longer good end after a whole line. */
  endUnless(isGood: (key: ApiKey | null) => boolean): void {
    for (const [controller, key] of this.#keys) {
      if (!isGood(key)) controller.abort();
    }
  }

  /** Every open stream ends after a whole line, and no new one opens. */
  close(): void {
    this.#isClosed = true;
    this.endUnless(() => false);
  }
}
