/** Many blocks of the simulated ledger: balances add up, also through forks, and the real virtual machine gives the same results. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name: 'ledger',
    globalSetup: './test/build-once.ts',
    include: ['test/litesvm/simulated.test.ts', 'test/simulator/**/*.test.ts'],
    maxWorkers: availableParallelism(),
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
