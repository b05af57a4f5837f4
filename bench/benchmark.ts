/** One benchmark: it prints ratios to a yardstick that runs beside it, and a checksum of what was produced. */
export interface Benchmark {
  readonly name: string;
  readonly summary: string;
  /** Lines of help on the options it takes; without them it takes none. */
  readonly options?: readonly string[];
  run(print: (line: string) => void, args: readonly string[]): Promise<void>;
}

/** Said about options that are not understood. */
export class UsageFailure extends Error {}

/** The middle and the slow end of samples. */
export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

export function quantilesOf(samples: readonly number[]): Quantiles {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95) };
}
