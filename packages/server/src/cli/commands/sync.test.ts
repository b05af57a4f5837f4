import { expect, test } from 'vitest';
import { runMain } from '../testing/run-main.ts';

test('behavior: the help of the status has the required option', async () => {
  const { out } = await runMain(['sync', 'status', '--help']);
  expect(out).toContain('Usage: sluice sync status --to <address> [options]');
  expect(out).toMatch(/^ +--to <address> +postgres:/m);
});
