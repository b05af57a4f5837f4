import { InvalidArgumentError } from 'commander';
import { parseRetention } from '../app/config/parse-retention.ts';

/** Checks the value of `--keep` and returns it. */
export function retentionOption(text: string): string {
  if (parseRetention(text) !== undefined) return text;
  throw new InvalidArgumentError(
    'Expected all, or a number of blocks (100000), days (7d) or bytes (50GB; KB, MB, GB, TB), 1 or more.',
  );
}
