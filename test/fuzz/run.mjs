/** Runs the fuzz test for a time: `npm run fuzz -- --minutes 10`. */
import { spawnSync } from 'node:child_process';
import { readOptions } from '../read-options.mjs';

const usage = `usage: npm run fuzz -- [--minutes N | --seconds N] [--keep]

Gives random and damaged queries, blocks, segments, journals, indexes and feed messages to their readers, for 10 minutes by default.
With --keep, small inputs with a new outcome are stored in test/fuzz/corpus.
`;
const values = readOptions(usage, {
  minutes: { type: 'string' },
  seconds: { type: 'string' },
  keep: { type: 'boolean' },
});
const seconds = values.seconds ?? String(Number(values.minutes ?? 10) * 60);
const args = ['vitest', 'run', '--config', 'test/slow/vitest.config.ts', 'test/fuzz/fuzz.test.ts'];
const env = { ...process.env, FUZZ_SECONDS: seconds, FUZZ_KEEP: values.keep ? '1' : '0' };
process.exitCode = spawnSync('npx', args, { stdio: 'inherit', env }).status ?? 1;
