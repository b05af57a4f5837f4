import type { Clock } from '@sluice/base/clock';
import { type CodedError, describeWithoutPaths } from '@sluice/base/errors';
import type { AlarmCode } from './alarm-codes.ts';
import type { Alarm } from './dataset-reader.ts';

/** The active alarms. Raising an active alarm again only replaces its text; its start time stays. */
export class AlarmBoard {
  readonly #clock: Clock;
  readonly #alarms = new Map<AlarmCode, Alarm>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Raises an alarm. Clients can read the text, so paths of an error are shortened to file names. */
  raise(code: AlarmCode, cause: string | CodedError): void {
    const message = typeof cause === 'string' ? cause : describeWithoutPaths(cause);
    const sinceUnixMs = this.#alarms.get(code)?.sinceUnixMs ?? this.#clock.unixMs();
    this.#alarms.set(code, { code, message, sinceUnixMs });
  }

  clear(code: AlarmCode): void {
    this.#alarms.delete(code);
  }

  has(code: AlarmCode): boolean {
    return this.#alarms.has(code);
  }

  list(): Alarm[] {
    return [...this.#alarms.values()];
  }
}
