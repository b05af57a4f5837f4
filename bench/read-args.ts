import { parseArgs } from 'node:util';
import { UsageFailure } from './benchmark.ts';

/** Parses the options of a benchmark, each with a text value. Unknown options are rejected. */
export function readArgs<Options extends Record<string, { type: 'string' }>>(
  args: readonly string[],
  options: Options,
): { readonly [Name in keyof Options]?: string } {
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true });
    return values as { [Name in keyof Options]?: string };
  } catch (error) {
    throw new UsageFailure((error as Error).message, { cause: error });
  }
}

export function readCount(
  name: string,
  found: string | undefined,
  { fallback, min }: { readonly fallback: number; readonly min: number },
): number {
  if (found === undefined) return fallback;
  const value = Number(found);
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new UsageFailure(`--${name} takes a whole number from ${min}`);
}
