import { defineConfig } from 'vitest/config';

const project = (name: string, order: number, options: object) => ({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name,
    ...options,
    sequence: { groupOrder: order },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

/** These run many small programs one after another, or wait for kills and restarts, so two files run at the same time. */
const programs = [
  'test/sync/{nats,duckdb}.test.ts',
  'test/client/{packed,browser}.test.ts',
  'test/guide/{guide,examples-in-docs,dataframes}.test.ts',
];

/**
 * The configuration of tests that run clients, the examples, the programs of the guide and `sluice sync` with a service under forks and kills. They take
 * long.
 */
export default defineConfig({
  test: {
    globalSetup: './test/build-once.ts',
    projects: [
      project('programs', 0, { include: programs, maxWorkers: 2 }),
      project('consumers', 1, {
        include: ['client', 'examples', 'guide', 'sync'].map(
          (folder) => `test/${folder}/**/*.test.ts`,
        ),
        exclude: programs,
        // One file runs at a time, because each keeps both cores busy.
        fileParallelism: false,
      }),
    ],
  },
});
