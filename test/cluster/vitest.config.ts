import { defineConfig } from 'vitest/config';

const project = (name: string, order: number, options: object) => ({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name,
    ...options,
    sequence: { groupOrder: order },
    testTimeout: 900_000,
    hookTimeout: 300_000,
  },
});

const storm = 'test/cluster/storm.test.ts';

/**
 * Real object stores and message servers. The storm measures how long the head stands still, so it runs alone. The other
 * files wait most of the time, for elections, leases and processes that start, so three run at the same time.
 */
export default defineConfig({
  test: {
    globalSetup: ['./test/cluster/install-servers.ts', './test/build-once.ts'],
    projects: [
      project('storm', 0, { include: [storm] }),
      project('cluster', 1, {
        include: ['test/cluster/**/*.test.ts'],
        exclude: [storm],
        maxWorkers: 3,
      }),
    ],
  },
});
