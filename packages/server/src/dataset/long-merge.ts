import type { Clock } from '@sluice/base/clock';
import type { IndexRun } from '../chain/chain-snapshot.ts';

export interface LongMergeDependencies {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called when it has succeeded or was stopped, and when a failed one may be repeated. */
  readonly onReady: () => void;
}

/** A failed merge is repeated after this time, and each further time after twice as long. */
const retryMs = 30_000;
const retryMsMax = 3_600_000;

/** A merge of large indexes, which takes minutes to hours, so that other upkeep goes on beside it. */
export class LongMerge {
  readonly #dependencies: LongMergeDependencies;
  #runs: readonly IndexRun[] = [];
  #working: Promise<void> | undefined;
  #failureCount = 0;

  constructor(dependencies: LongMergeDependencies) {
    this.#dependencies = dependencies;
  }

  /** Its inputs, until it has ended, or until it may be repeated. */
  get runs(): readonly IndexRun[] {
    return this.#runs;
  }

  get hasFailed(): boolean {
    return this.#failureCount > 0;
  }

  /** A promise that resolves when the merge in progress has ended; undefined if there is none. */
  get working(): Promise<void> | undefined {
    return this.#working;
  }

  /** Takes over a merge that has begun. `work` rejects if the merge fails, and `onError` decides whether it is repeated later. */
  start(
    runs: readonly IndexRun[],
    work: Promise<void>,
    onError: (error: unknown) => boolean,
  ): void {
    this.#runs = runs;
    this.#working = this.#follow(work, onError);
  }

  /** No merge is due any more, so the last failure no longer matters. */
  forgetFailure(): void {
    this.#failureCount = 0;
  }

  async #follow(work: Promise<void>, onError: (error: unknown) => boolean): Promise<void> {
    let [hasFailed, isRepeated] = [false, false];
    try {
      await work;
    } catch (error) {
      hasFailed = true;
      isRepeated = onError(error);
    }
    this.#working = undefined;
    if (isRepeated) {
      this.#failureCount++;
      void this.#wait(Math.min(retryMs * 2 ** (this.#failureCount - 1), retryMsMax));
      return;
    }
    this.#runs = [];
    this.#failureCount = 0;
    // A process that may not write would fail again at once, without end.
    if (!hasFailed) this.#dependencies.onReady();
  }

  async #wait(ms: number): Promise<void> {
    const { clock, signal, onReady } = this.#dependencies;
    await clock.sleep(ms, signal);
    this.#runs = [];
    onReady();
  }
}
