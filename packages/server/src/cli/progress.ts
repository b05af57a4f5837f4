import type { Clock } from '@sluice/base/clock';
import { isTerminal } from '@sluice/base/terminal';

const barEveryMs = 100;
const lineEveryMs = 5_000;
const barWidth = 30;
/** Clears the rest of a line that is shorter than the one before. */
const clearRest = '\x1b[K';

/** Shows the progress of a long command: a bar on a terminal, or a line from time to time elsewhere. */
export class Progress {
  readonly #total: number | undefined;
  readonly #share: (() => number | undefined) | undefined;
  readonly #unit: string;
  readonly #err: NodeJS.WritableStream;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #isTerminal: boolean;
  #shownMs: number;
  #bytes = 0;
  #done = 0;
  /** The state in the last line. */
  #shownState = '';

  constructor(
    /**
     * Without a total only the finished amount is shown, unless `share` returns the finished share from 0 to 1 by another measure.
     */
    options: { total?: number; share?: () => number | undefined; unit: string },
    dependencies: { err: NodeJS.WritableStream; clock: Clock },
  ) {
    this.#total = options.total;
    this.#share = options.share;
    this.#unit = options.unit;
    this.#err = dependencies.err;
    this.#clock = dependencies.clock;
    this.#startMs = dependencies.clock.nowMs();
    this.#shownMs = this.#startMs;
    this.#isTerminal = isTerminal(dependencies.err);
  }

  get isShown(): boolean {
    return this.#shownMs > this.#startMs;
  }

  add(count: number, bytes: number): void {
    this.#done += count;
    this.#bytes += bytes;
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#shownMs < (this.#isTerminal ? barEveryMs : lineEveryMs)) return;
    this.#shownMs = nowMs;
    this.#shownState = this.#state;
    this.#err.write(this.#isTerminal ? `\r${this.#bar()}${clearRest}` : `${this.#line()}\n`);
  }

  /** Shows the final state, also if no progress was shown before. Prints no second line if the last one shows it already. */
  finish(): void {
    if (this.#done === 0 || (!this.#isTerminal && this.#state === this.#shownState)) return;
    this.#err.write(this.#isTerminal ? `\r${this.#bar()}${clearRest}\n` : `${this.#line()}\n`);
  }

  /** Shows the final state of interrupted work without a share, because reading may be ahead of the finished work. */
  stop(): void {
    if (this.#done === 0) return;
    this.#err.write(`${this.#isTerminal ? `\r${clearRest}` : ''}${this.#amount()}\n`);
  }

  /** The finished amount and share. The rate changes even if nothing was done. */
  get #state(): string {
    return `${this.#done} ${this.#share?.()}`;
  }

  #bar(): string {
    const share = this.#doneShare();
    if (share === undefined) return this.#line();
    const filled = Math.round(barWidth * Math.min(share, 1));
    return `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${this.#line()}`;
  }

  #doneShare(): number | undefined {
    return this.#total === undefined ? this.#share?.() : this.#done / Math.max(this.#total, 1);
  }

  #line(): string {
    return `${this.#amount()}${this.#left()}`;
  }

  #seconds(): number {
    return (this.#clock.nowMs() - this.#startMs) / 1000;
  }

  #amount(): string {
    const seconds = Math.max(this.#seconds(), 0.001);
    const rate = Math.round(this.#done / seconds);
    const total = this.#total === undefined ? '' : ` of ${this.#total}`;
    const done = `${this.#done}${total} ${this.#unit}`;
    // Work that is not counted in bytes has none.
    if (this.#bytes === 0) return `${done}, ${rate} ${this.#unit}/s`;
    const megabytes = (this.#bytes / 1e6).toFixed(1);
    const speed = (this.#bytes / 1e6 / seconds).toFixed(1);
    return `${done}, ${megabytes} MB, ${rate} ${this.#unit}/s, ${speed} MB/s`;
  }

  #left(): string {
    const share = this.#doneShare();
    if (share === undefined) return '';
    const percent = `, ${Math.floor(share * 100)} %`;
    if (share <= 0 || share >= 1) return percent;
    return `${percent}, ${formatDuration((this.#seconds() * (1 - share)) / share)} left`;
  }
}

function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
