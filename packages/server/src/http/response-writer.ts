import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';

export interface ResponseWriterOptions {
  readonly stallMsMax: number;
  readonly stallCheckMs: number;
}

/** What became of a write: `gone` if there is no reader any more, `stalled` if it took no byte for too long. */
export type WriteOutcome = 'written' | 'gone' | 'stalled';

/** Writes to a response no faster than its reader reads, and not at all to one that stopped. */
export class ResponseWriter {
  readonly #response: ServerResponse;
  readonly #options: ResponseWriterOptions;
  readonly #clock: Clock;

  constructor(response: ServerResponse, options: ResponseWriterOptions, clock: Clock) {
    this.#response = response;
    this.#options = options;
    this.#clock = clock;
  }

  async write(bytes: Uint8Array): Promise<WriteOutcome> {
    const response = this.#response;
    if (response.destroyed) return 'gone';
    if (bytes.length === 0 || response.write(bytes)) return 'written';
    return this.#waitUntil('drain', () => !response.writableNeedDrain);
  }

  async end(bytes: Uint8Array): Promise<WriteOutcome> {
    const response = this.#response;
    if (response.destroyed) return 'gone';
    response.end(bytes);
    return this.#waitUntil('finish', () => response.writableFinished);
  }

  async #waitUntil(event: 'drain' | 'finish', isDone: () => boolean): Promise<WriteOutcome> {
    const response = this.#response;
    const over = new AbortController();
    const stop = () => over.abort();
    response.once(event, stop).once('close', stop);
    try {
      let unsent = this.#unsent();
      let progressMs = this.#clock.nowMs();
      while (!isDone() && !response.destroyed) {
        await this.#clock.sleep(this.#options.stallCheckMs, over.signal);
        const nowMs = this.#clock.nowMs();
        if (unsent !== this.#unsent()) {
          unsent = this.#unsent();
          progressMs = nowMs;
        } else if (nowMs - progressMs >= this.#options.stallMsMax) {
          return this.#cut();
        }
      }
      return isDone() ? 'written' : 'gone';
    } finally {
      response.off(event, stop).off('close', stop);
    }
  }

  /**
   * Bytes that the system did not take yet. A socket's own count falls only when a whole write is done, which one large
   * write to a slow reader may not be for minutes, so the handle's is asked.
   */
  #unsent(): number {
    const socket = this.#response.socket as SocketWithHandle | null;
    return socket?._handle?.writeQueueSize ?? socket?.writableLength ?? 0;
  }

  /** By a reset: a body without chunks would otherwise look complete. */
  #cut(): WriteOutcome {
    this.#response.socket?.resetAndDestroy();
    this.#response.destroy();
    return 'stalled';
  }
}

interface SocketWithHandle {
  readonly writableLength: number;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}
