import { CodedError } from '../base/errors.ts';
import type { KeyBudgets } from './key-budgets.ts';

/** A place among the open streams. Its signal ends the stream: the client left, or the service closes. */
export interface StreamPlace {
  readonly signal: AbortSignal;
  /** Gives the place back; once is enough. */
  readonly leave: () => void;
}

/** Everyone who has a stream open. */
export class StreamPlaces {
  readonly #controllers = new Set<AbortController>();
  readonly #countMax: number;
  readonly #budgets: KeyBudgets;
  #isClosed = false;

  constructor(options: { readonly streamCountMax: number }, budgets: KeyBudgets) {
    this.#countMax = options.streamCountMax;
    this.#budgets = budgets;
  }

  get count(): number {
    return this.#controllers.size;
  }

  take(key: string | null): StreamPlace {
    if (this.#isClosed) throw new CodedError('service-closing');
    if (this.#controllers.size >= this.#countMax) throw new CodedError('streams-full');
    const giveBack = key === null ? undefined : this.#budgets.takeStream(key);
    const controller = new AbortController();
    this.#controllers.add(controller);
    const leave = () => {
      if (!this.#controllers.delete(controller)) return;
      giveBack?.();
      controller.abort();
    };
    return { signal: controller.signal, leave };
  }

  /** Every open stream ends after a whole line, and no new one opens. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#controllers) controller.abort();
  }
}
