/**
 * Slot notifications of a node, over its WebSocket. They only say when it is worth asking: never data, never a proof. A
 * socket that is silent or closed is opened again; without one, polling goes on.
 */
import WebSocket from 'ws';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { backoffMs } from '../../base/retry.ts';
import { parseSlot } from '../../ledger/primitives.ts';

export interface SlotWatcherOptions {
  /** Tried in this order, one after another, until one speaks. */
  readonly urls: readonly string[];
  /** A node that produces slots is never silent for so long. */
  readonly silenceMsMax?: number;
  /** Of the handshake. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Told once, when every address was tried and none spoke. */
  readonly onMute?: (() => void) | undefined;
}

const silenceMsMaxDefault = 10_000;
const handshakeMsMax = 5_000;
const messageBytesMax = 65_536;
const announcedCountMax = 64;
const reconnect = { firstMs: 500, maxMs: 30_000 };

export class SlotWatcher {
  readonly #options: SlotWatcherOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #waiters = new Set<() => void>();
  /** When slots were announced, the last ones. */
  readonly #announced = new Map<number, number>();
  #highest = -1;
  #isLive = false;

  constructor(
    options: SlotWatcherOptions,
    modules: { readonly clock: Clock; readonly random: Random },
  ) {
    this.#options = options;
    this.#clock = modules.clock;
    this.#random = modules.random;
  }

  /** Whether notifications come. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** The highest slot that was announced; -1 if none was. */
  get highest(): number {
    return this.#highest;
  }

  /** When a slot was announced; undefined if it was not, or long ago. */
  announcedMs(slot: number): number | undefined {
    return this.#announced.get(slot);
  }

  /** How long ago each of the last slots above this one was announced. */
  announcedAbove(slot: number): number[] {
    const nowMs = this.#clock.nowMs();
    return [...this.#announced].flatMap(([one, ms]) => (one > slot ? [nowMs - ms] : []));
  }

  /** Resolves when a slot above `slot` was announced, after `ms`, or when the signal aborts. */
  async above(slot: number, ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#highest > slot) return;
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#waiters.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    try {
      await this.#clock.sleep(ms, woken.signal);
    } finally {
      this.#waiters.delete(wake);
      signal.removeEventListener('abort', wake);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let isTold = false;
    for (let turn = 0; !signal.aborted && this.#options.urls.length > 0; turn++) {
      const url = this.#options.urls[turn % this.#options.urls.length] as string;
      const spoke = await this.#listen(url, signal);
      // What spoke once is tried first again.
      if (spoke) turn--;
      failures = spoke ? 0 : failures + 1;
      if (!isTold && !signal.aborted && failures === this.#options.urls.length) {
        isTold = true;
        this.#options.onMute?.();
      }
      await this.#clock.sleep(backoffMs(failures + 1, reconnect, this.#random), signal);
    }
  }

  /** Listens until the socket closes or falls silent; tells whether it ever spoke. */
  async #listen(url: string, signal: AbortSignal): Promise<boolean> {
    const socket = new WebSocket(url, {
      handshakeTimeout: handshakeMsMax,
      maxPayload: messageBytesMax,
      followRedirects: false,
      headers: this.#options.headers ?? {},
    });
    const silence = new Silence(this.#options.silenceMsMax ?? silenceMsMaxDefault, this.#clock);
    const closed = new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
      socket.on('error', () => resolve());
    });
    socket.on('open', () => {
      socket.send('{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}');
    });
    socket.on('message', (data) => {
      const slot = parseNotification(String(data));
      if (slot === undefined) return;
      silence.break();
      this.#isLive = true;
      this.#announce(slot);
    });
    const stop = new AbortController();
    const onAbort = () => stop.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([closed, silence.wait(stop.signal)]);
    onAbort();
    signal.removeEventListener('abort', onAbort);
    socket.on('error', () => undefined);
    socket.terminate();
    const spoke = this.#isLive;
    this.#isLive = false;
    return spoke;
  }

  #announce(slot: number): void {
    // A node that went back to an earlier slot, as after a fork, still tells that there is something to ask.
    this.#highest = slot;
    this.#announced.set(slot, this.#clock.nowMs());
    const [oldest] = this.#announced.keys();
    if (this.#announced.size > announcedCountMax) this.#announced.delete(oldest as number);
    for (const wake of [...this.#waiters]) wake();
  }
}

/** Tells when nothing was heard for so long. */
class Silence {
  readonly #msMax: number;
  readonly #clock: Clock;
  #heardMs: number;

  constructor(msMax: number, clock: Clock) {
    this.#msMax = msMax;
    this.#clock = clock;
    this.#heardMs = clock.nowMs();
  }

  break(): void {
    this.#heardMs = this.#clock.nowMs();
  }

  async wait(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const leftMs = this.#heardMs + this.#msMax - this.#clock.nowMs();
      if (leftMs <= 0) return;
      await this.#clock.sleep(leftMs, signal);
    }
  }
}

function parseNotification(text: string): number | undefined {
  try {
    const message = JSON.parse(text) as {
      method?: unknown;
      params?: { result?: { slot?: unknown } };
    };
    if (message.method !== 'slotNotification') return undefined;
    return parseSlot(message.params?.result?.slot);
  } catch {
    return undefined;
  }
}
