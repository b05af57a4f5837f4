/**
 * A benchmark. It prints ratios to a baseline that runs in the same process or machine, and a checksum of its result.
 */
export interface Benchmark {
  readonly name: string;
  readonly summary: string;
  /** Help lines for its options. Absent if it has none. */
  readonly options?: readonly string[];
  run(print: (line: string) => void, args: readonly string[]): Promise<void>;
}

/** Thrown for invalid options. */
export class UsageFailure extends Error {}

/** The median and the 95th percentile of samples. */
export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

export function quantilesOf(samples: readonly number[]): Quantiles {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95) };
}

/** The processor time of this process, which depends less on the load of the machine than the time that passes. */
export function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}
