import { UsageFailure } from '../benchmark.ts';
import { readArgs, readCount } from '../read-args.ts';

export interface ServiceBenchOptions {
  /** Undefined means all. */
  readonly scenarios: readonly string[] | undefined;
  readonly seed: number;
  /** The duration of the measurement after everything has started. */
  readonly seconds: number;
}

const text = { type: 'string' } as const;

export function parseOptions(
  args: readonly string[],
  known: readonly string[],
): ServiceBenchOptions {
  const values = readArgs(args, { scenarios: text, seed: text, seconds: text });
  const scenarios = values.scenarios?.split(',');
  const odd = scenarios?.find((name) => !known.includes(name));
  if (odd !== undefined)
    throw new UsageFailure(`--scenarios accepts ${known.join(', ')}, not ${odd}`);
  return {
    scenarios,
    seed: readCount('seed', values.seed, { fallback: 1, min: 0 }),
    seconds: readCount('seconds', values.seconds, { fallback: 60, min: 5 }),
  };
}
