import { CodedError } from '@sluice/base/errors';
import type { Feed, FeedMessage, Lease } from '../feed.ts';

/** A feed in memory. Several writers may share it. */
export class MemoryFeed implements Feed {
  readonly messageBytesMax: number;
  readonly messages: FeedMessage[] = [];
  isNearlyFull = false;
  isDown = false;
  /** Whether acknowledgements of the next messages are lost after the messages were stored. */
  isAckLost = false;
  #wake: (() => void)[] = [];
  #holder: string | undefined;
  readonly #onReleased: (() => void)[] = [];

  constructor(messageBytesMax = 1 << 20) {
    this.messageBytesMax = messageBytesMax;
  }

  async readLastSequence(): Promise<number> {
    this.#check();
    return this.#last;
  }

  async publish(bytes: Uint8Array, expectedSequence: number): Promise<number> {
    this.#check();
    const last = this.#last;
    if (last !== expectedSequence) throw new CodedError('feed-fenced');
    this.messages.push({ sequence: last + 1, bytes: new Uint8Array(bytes) });
    for (const wake of this.#wake.splice(0)) wake();
    if (this.isAckLost) throw new CodedError('feed-unreachable', { operation: 'publish' });
    return last + 1;
  }

  async *read(firstSequence: number, signal: AbortSignal): AsyncGenerator<FeedMessage> {
    let next = firstSequence;
    while (!signal.aborted) {
      this.#check();
      const first = this.messages[0]?.sequence ?? next;
      if (first > next || this.#last < next - 1) {
        throw new CodedError('feed-gap', { wanted: next, first });
      }
      const message = this.messages[next - first];
      if (message !== undefined) {
        next++;
        yield message;
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  get #last(): number {
    return this.messages.at(-1)?.sequence ?? 0;
  }

  async purgeBelow(sequence: number): Promise<void> {
    this.#check();
    while ((this.messages[0]?.sequence ?? sequence) < sequence) this.messages.shift();
  }

  async acquireLease(holder: string, signal: AbortSignal): Promise<Lease | undefined> {
    while (this.#holder !== undefined && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#onReleased.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    if (signal.aborted) return undefined;
    this.#holder = holder;
    const lost = new AbortController();
    return {
      signal: lost.signal,
      release: async () => {
        lost.abort();
        if (this.#holder === holder) this.#holder = undefined;
        for (const resolve of this.#onReleased.splice(0)) resolve();
      },
    };
  }

  async close(): Promise<void> {}

  #check(): void {
    if (this.isDown) throw new CodedError('feed-unreachable', { operation: 'any' });
  }
}
