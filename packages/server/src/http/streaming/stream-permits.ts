import { CodedError } from '@sluice/base/errors';
import type { ByteMeter } from '../byte-meter.ts';
import { type ApiKey, keyId } from '../keys/api-keys.ts';
import type { KeyBudgets } from '../keys/key-budgets.ts';

/** One of the open streams. Its signal aborts when the client disconnects or the service shuts down. */
export interface StreamPermit {
  readonly signal: AbortSignal;
  /** Resolves when the bytes may be sent, or when the signal aborts. Returns `undefined` if they may be sent now. */
  readonly pace: (byteCount: number) => Promise<void> | undefined;
  /** Frees the permit. Further calls do nothing. */
  readonly leave: () => void;
}

/** Counts and limits the open streams. */
export class StreamPermits {
  readonly #keys = new Map<AbortController, ApiKey | null>();
  readonly #limits: { readonly streamCountMax: number };
  readonly #budgets: KeyBudgets;
  readonly #unsent: ByteMeter;
  #isClosed = false;

  /** A reload may change the limits. They apply to streams that open afterwards. */
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

  take(key: ApiKey | null): StreamPermit {
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

  /** Ends the streams whose key is no longer valid, each after a whole line. */
  endUnless(isGood: (key: ApiKey | null) => boolean): void {
    for (const [controller, key] of this.#keys) {
      if (!isGood(key)) controller.abort();
    }
  }

  /** Ends all streams after a whole line and opens no new one. */
  close(): void {
    this.#isClosed = true;
    this.endUnless(() => false);
  }
}
