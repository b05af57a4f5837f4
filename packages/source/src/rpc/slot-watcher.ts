/**
 * Slot notifications of a node over its WebSocket. A socket that is closed or sends nothing is opened again. Without a socket the
 * node is polled.
 */

import type { Clock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import type { Random } from '@sluice/base/random';
import { backoffMs } from '@sluice/base/retry';
import { parseSlot } from '@sluice/ledger/primitives';
import { memberOf } from '@sluice/protocol/unknown-value';
import WebSocket from 'ws';
import { Silence, SlotAnnouncements } from '../slot-announcements.ts';
import type { SlotNotices } from '../source.ts';

export interface SlotWatcherOptions {
  /** Tried in this order until one sends notifications. */
  readonly urls: readonly string[];
  /** A socket that is silent for this time is closed. */
  readonly silenceMsMax?: number;
  /** Sent with the handshake. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called once if no address has sent a notification. */
  readonly onMute?: (() => void) | undefined;
}

const silenceMsMaxDefault = 10_000;
const handshakeMsMax = 5_000;
const messageBytesMax = 65_536;
const reconnect = { firstMs: 500, maxMs: 30_000 };

export class SlotWatcher extends SlotAnnouncements implements SlotNotices {
  readonly #options: SlotWatcherOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  #isLive = false;

  constructor(
    options: SlotWatcherOptions,
    dependencies: { readonly clock: Clock; readonly random: Random },
  ) {
    super(dependencies.clock);
    this.#options = options;
    this.#clock = dependencies.clock;
    this.#random = dependencies.random;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let isReported = false;
    for (let turn = 0; !signal.aborted && this.#options.urls.length > 0; turn++) {
      const url = elementAt(this.#options.urls, turn % this.#options.urls.length);
      const isWorking = await this.#listen(url, signal);
      // An address that worked is tried again first.
      if (isWorking) turn--;
      failures = isWorking ? 0 : failures + 1;
      if (!isReported && !signal.aborted && failures === this.#options.urls.length) {
        isReported = true;
        this.#options.onMute?.();
      }
      await this.#clock.sleep(backoffMs(failures + 1, reconnect, this.#random), signal);
    }
  }

  /** Listens until the socket closes or is silent for too long. Returns whether it has sent a notification. */
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
      this.announce(slot);
    });
    const stop = new AbortController();
    const onAbort = () => stop.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([closed, silence.wait(stop.signal)]);
    onAbort();
    signal.removeEventListener('abort', onAbort);
    socket.on('error', () => undefined);
    socket.terminate();
    const isWorking = this.#isLive;
    this.#isLive = false;
    return isWorking;
  }
}

function parseNotification(text: string): number | undefined {
  try {
    const message: unknown = JSON.parse(text);
    if (memberOf(message, 'method') !== 'slotNotification') return undefined;
    return parseSlot(memberOf(memberOf(memberOf(message, 'params'), 'result'), 'slot'));
  } catch {
    return undefined;
  }
}
