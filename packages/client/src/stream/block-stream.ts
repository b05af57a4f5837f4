/** The stream that a consumer uses. It starts with the first `next`, saves the cursor, and ends immediately on an abort. */
import { messageOf } from '@sluice/protocol/unknown-value';
import type { Clock } from '../base/clock.ts';
import { isSluiceError, SluiceError } from '../base/sluice-error.ts';
import { waitFor } from '../base/wait-for.ts';
import type { Backlog } from './backlog.ts';
import { type Cursor, type CursorState, parseCursorState } from './cursor.ts';
import type { Batch, BlockStream } from './stream-types.ts';

export interface StreamSetup {
  readonly cursor: Cursor | CursorState | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly createBacklog: (state: CursorState | undefined) => Backlog;
  readonly run: (backlog: Backlog, signal: AbortSignal) => AsyncGenerator<Batch>;
}

export class CursorStream implements BlockStream {
  readonly #setup: StreamSetup;
  readonly #stop = new AbortController();
  readonly #onAbort: () => void;
  readonly #batches: AsyncGenerator<Batch>;
  #isReturned = false;

  constructor(setup: StreamSetup) {
    this.#setup = setup;
    this.#onAbort = () => this.#stop.abort(setup.signal?.reason);
    this.#batches = this.#read();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Batch>> {
    try {
      return await this.#batches.next();
    } catch (error) {
      if (this.#isReturned) return { done: true, value: undefined };
      throw error;
    }
  }

  /** Closes the connection, also while a `next` is pending. */
  async return(): Promise<IteratorResult<Batch>> {
    this.#isReturned = true;
    this.#stop.abort();
    await this.#batches.return(undefined).catch(() => undefined);
    return { done: true, value: undefined };
  }

  async *#read(): AsyncGenerator<Batch> {
    const { signal } = this.#setup;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted === true) this.#onAbort();
    try {
      const backlog = this.#setup.createBacklog(await this.#load());
      const batches = this.#setup.run(backlog, this.#stop.signal);
      try {
        for (;;) {
          let step: IteratorResult<Batch> | undefined = await batches.next();
          if (step.done === true) return;
          const { cursor, kind } = step.value;
          // A rollback is saved before the consumer applies it. Otherwise a consumer that stops after it has removed blocks would resume from
          // the blocks that it removed, and would miss them if the chain has returned to their branch.
          if (kind === 'rollback') await this.#save(cursor);
          yield step.value;
          // A call of `next` means that the consumer has finished the previous batch, so it is released from memory.
          step = undefined;
          if (kind === 'blocks') await this.#save(cursor);
        }
      } finally {
        await batches.return(undefined);
      }
    } finally {
      signal?.removeEventListener('abort', this.#onAbort);
      this.#stop.abort();
    }
  }

  async #load(): Promise<CursorState | undefined> {
    const { cursor } = this.#setup;
    if (cursor === undefined) return undefined;
    const state = 'load' in cursor ? await this.#use(async () => cursor.load()) : cursor;
    return state === null || state === undefined ? undefined : parseCursorState(state);
  }

  async #save(state: CursorState): Promise<void> {
    const { cursor } = this.#setup;
    if (cursor === undefined || !('load' in cursor) || cursor.save === undefined) return;
    await this.#use(async () => cursor.save?.(state));
  }

  async #use<Value>(work: () => Promise<Value>): Promise<Value> {
    const { signal } = this.#stop;
    try {
      return await waitFor(work(), { clock: this.#setup.clock, signal });
    } catch (cause) {
      if (signal.aborted || isSluiceError(cause)) throw cause;
      throw new SluiceError('cursor-failed', {
        detail: messageOf(cause),
        cause,
      });
    }
  }
}
