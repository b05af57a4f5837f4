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
const measured = 'test/cluster/{speed,writer-cost}.test.ts';

/**
 * Tests with real object stores and message servers. `storm.test.ts` measures for how long the head does not advance, so it
 * runs alone. The other files mostly wait for elections, leases and process starts, so two of them run at the same time. When three did, a
 * request to servers that had just started could take longer than its time limit.
 */
export default defineConfig({
  test: {
    globalSetup: ['./test/cluster/install-servers.ts', './test/build-once.ts'],
    projects: [
      project('storm', 0, { include: [storm] }),
      project('cluster', 1, {
        include: ['test/cluster/**/*.test.ts'],
        exclude: [storm, measured],
        maxWorkers: 2,
      }),
      // They measure, so nothing else runs meanwhile, and they have a command of their own.
      project('speed', 2, { include: [measured], fileParallelism: false }),
    ],
  },
});
