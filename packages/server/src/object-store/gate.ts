/** Lets a limited number of operations run at the same time. The others wait in order. */
export class Gate {
  readonly #countMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#countMax) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      // The next operation takes the place of this one, so the count does not change.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
