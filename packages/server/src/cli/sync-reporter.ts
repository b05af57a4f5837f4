/** Shows on stderr what `sluice sync` does: the progress of the load, and one line for everything that an operator should know. */
import type { Clock } from '@sluice/base/clock';
import { isTerminal } from '@sluice/base/terminal';
import type { ClientEvent } from '@sluice/client';
import { describeSyncEvent, type SyncEvent } from '@sluice/sync/sync-events';
import { Progress } from './progress.ts';

export class SyncReporter {
  readonly #err: NodeJS.WritableStream;
  readonly #clock: Clock;
  #progress: Progress | undefined;
  readonly #loading = new Set<string>();
  #slotCount = 0;
  #loadedCount = 0;
  #failure = '';

  constructor(err: NodeJS.WritableStream, clock: Clock) {
    this.#err = err;
    this.#clock = clock;
  }

  take(event: SyncEvent): void {
    if (event.kind === 'load-start') this.#start(event.table, event.last - event.first + 1);
    if (event.kind === 'load') {
      this.#loadedCount += event.slots;
      this.#progress?.add(event.rows, 0);
    }
    const isLoaded = event.kind === 'follow' || event.kind === 'end';
    if (isLoaded && this.#loading.delete(event.table) && this.#loading.size === 0) this.end();
    const text = describeSyncEvent(event);
    if (event.kind === 'retry') this.#fail(event.table, text);
    else if (text !== undefined) this.#write(`${event.table} ${text}`);
  }

  /** Tables that are loaded at the same time have one progress. A load that is tried again is counted once. */
  #start(table: string, slotCount: number): void {
    if (!this.#loading.has(table)) this.#slotCount += slotCount;
    this.#loading.add(table);
    this.#progress ??= new Progress(
      { unit: 'rows', share: () => Math.min(this.#loadedCount / this.#slotCount, 1) },
      { err: this.#err, clock: this.#clock },
    );
  }

  takeClient(event: ClientEvent): void {
    if (event.kind === 'retry' && event.attempt > 1)
      this.#fail('', `${event.error.message}; retrying`);
  }

  /** Tables usually fail together, so the same failure of another table is not shown again. */
  #fail(table: string, text = ''): void {
    if (text !== this.#failure) this.#write(`${table} ${text}`.trim());
    this.#failure = text;
  }

  /** Writes a line in place of the bar, which is drawn again with the next rows. */
  #write(line: string): void {
    const start = this.#progress !== undefined && isTerminal(this.#err) ? '\r\x1b[K' : '';
    this.#err.write(`${start}${line}\n`);
    this.#failure = '';
  }

  end(): void {
    this.#progress?.stop();
    this.#progress = undefined;
    this.#slotCount = 0;
    this.#loadedCount = 0;
  }
}
