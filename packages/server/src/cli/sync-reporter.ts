/** Shows on stderr what `sluice sync` does: the progress of the load, and one line for everything that an operator should know. */
import type { Clock } from '@sluice/base/clock';
import type { ClientEvent } from '@sluice/client';
import { messageOf } from '@sluice/protocol/unknown-value';
import type { SyncEvent } from '@sluice/sync/sync-events';
import { Progress } from './progress.ts';

export class SyncReporter {
  readonly #err: NodeJS.WritableStream;
  readonly #clock: Clock;
  #progress: Progress | undefined;
  #slotCount = 0;
  #loadedCount = 0;

  constructor(err: NodeJS.WritableStream, clock: Clock) {
    this.#err = err;
    this.#clock = clock;
  }

  take(event: SyncEvent): void {
    if (event.kind === 'load-start') this.#start(event.last - event.first + 1);
    if (event.kind === 'load') {
      this.#loadedCount += event.slots;
      this.#progress?.add(event.rows, 0);
    }
    const text = describeEvent(event);
    if (text !== undefined) this.#err.write(`${event.table} ${text}\n`);
  }

  /** Tables that are loaded at the same time have one progress. */
  #start(slotCount: number): void {
    this.#slotCount += slotCount;
    this.#progress ??= new Progress(
      { unit: 'rows', share: () => Math.min(this.#loadedCount / this.#slotCount, 1) },
      { err: this.#err, clock: this.#clock },
    );
  }

  takeClient(event: ClientEvent): void {
    if (event.kind === 'retry' && event.attempt > 1)
      this.#err.write(`${event.error.message}; retrying\n`);
  }

  end(): void {
    if (this.#progress?.isShown === true) this.#progress.stop();
  }
}

function describeEvent(event: SyncEvent): string | undefined {
  switch (event.kind) {
    case 'load-start':
      return `loads slots ${event.first} to ${event.last}`;
    case 'index':
      return 'is loaded, creating its indexes';
    case 'follow':
      return `follows the ledger from slot ${event.slot ?? 'the start'}`;
    case 'fill':
      return `fills the new columns ${event.columns.join(', ')} up to slot ${event.last}`;
    case 'filled':
      return `has filled the columns ${event.columns.join(', ')}`;
    case 'retry':
      return `${messageOf(event.error)}; trying again in ${Math.ceil(event.waitMs / 1000)} s`;
    case 'commit':
      return event.rollbackTo === undefined
        ? undefined
        : `fork: the rows above slot ${event.rollbackTo} were replaced`;
    default:
      return undefined;
  }
}
