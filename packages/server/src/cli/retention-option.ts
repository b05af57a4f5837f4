import { InvalidArgumentError } from 'commander';
import { parseRetention } from '../app/config/parse-retention.ts';

/** Checks the value of `--keep` and returns it. */
export function retentionOption(text: string): string {
  if (parseRetention(text) !== undefined) return text;
  throw new InvalidArgumentError(
    'Expected all, or blocks, days or bytes of 1 and more, such as 100000, 7d or 50GB (KB, MB, GB, TB).',
  );
}
