import type { Clock } from '../base/clock.ts';
import { type CodedError, describeWithoutPlaces } from '../base/errors.ts';
import type { AlarmCode } from './alarm-codes.ts';
import type { Alarm } from './dataset-reader.ts';

/** The alarms that stand. Raising one that stands changes only its text: it began when it was first raised. */
export class AlarmBoard {
  readonly #clock: Clock;
  readonly #alarms = new Map<AlarmCode, Alarm>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Everyone may read the text: of an error it has no path. */
  raise(code: AlarmCode, cause: string | CodedError): void {
    const message = typeof cause === 'string' ? cause : describeWithoutPlaces(cause);
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
