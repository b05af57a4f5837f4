import type { Clock } from '../base/clock.ts';
import type { Alarm } from './dataset-reader.ts';

/** The alarms that stand. Raising one that stands changes only its text: it began when it was first raised. */
export class AlarmBoard {
  readonly #clock: Clock;
  readonly #alarms = new Map<string, Alarm>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  raise(code: string, message: string): void {
    const sinceUnixMs = this.#alarms.get(code)?.sinceUnixMs ?? this.#clock.unixMs();
    this.#alarms.set(code, { code, message, sinceUnixMs });
  }

  clear(code: string): void {
    this.#alarms.delete(code);
  }

  has(code: string): boolean {
    return this.#alarms.has(code);
  }

  list(): Alarm[] {
    return [...this.#alarms.values()];
  }
}
