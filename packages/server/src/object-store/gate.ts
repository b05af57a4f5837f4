/** Whether a caller waits for an operation, or it is done in advance. */
export type Urgency = 'now' | 'ahead';

/** The share of the operations at the same time that may be done in advance. The others are free for callers that wait. */
const aheadShare = 0.75;

/** Lets a limited number of operations run at the same time. The others wait in order, urgent ones before the others. */
export class Gate {
  readonly #countMax: number;
  readonly #waiting: Readonly<Record<Urgency, (() => void)[]>> = { now: [], ahead: [] };
  #runningCount = 0;
  #aheadCount = 0;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  async pass<Result>(urgency: Urgency, work: () => Promise<Result>): Promise<Result> {
    if (!this.#mayStart(urgency)) {
      await new Promise<void>((resolve) => this.#waiting[urgency].push(resolve));
    } else this.#start(urgency);
    try {
      return await work();
    } finally {
      this.#runningCount--;
      if (urgency === 'ahead') this.#aheadCount--;
      this.#startNext();
    }
  }

  #mayStart(urgency: Urgency): boolean {
    if (this.#runningCount >= this.#countMax) return false;
    return urgency === 'now' || this.#aheadCount < Math.max(1, this.#countMax * aheadShare);
  }

  #start(urgency: Urgency): void {
    this.#runningCount++;
    if (urgency === 'ahead') this.#aheadCount++;
  }

  #startNext(): void {
    for (const urgency of ['now', 'ahead'] as const) {
      const queue = this.#waiting[urgency];
      while (queue.length > 0 && this.#mayStart(urgency)) {
        // The operation is counted here, so that no other one takes its slot before it continues.
        this.#start(urgency);
        queue.shift()?.();
      }
    }
  }
}
