import type { Clock } from '../base/clock.ts';
import type { AlarmCode } from './alarm-codes.ts';
import type { Alarm } from './dataset-reader.ts';

/** The alarms that stand. Raising one that stands changes only its text: it began when it was first raised. */
export class AlarmBoard {
  readonly #clock: Clock;
  readonly #alarms = new Map<AlarmCode, Alarm>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  raise(code: AlarmCode, message: string): void {
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
