import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const shared = {
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
};

export default defineConfig({
  test: {
    globalSetup: './test/build-once.ts',
    projects: [
      {
        ...shared,
        test: {
          name: 'sluice',
          // The default leaves one core idle, which on two is half of them.
          maxWorkers: availableParallelism(),
          include: ['packages/*/src/**/*.test.ts', 'test/*/**/*.test.ts'],
          // The tests against a real node have a configuration of their own.
          exclude: ['test/tidy/**', 'test/node/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...shared,
        test: {
          name: 'tidy',
          sequence: { groupOrder: 1 },
          include: ['test/tidy/**/*.test.ts'],
          testTimeout: 60_000,
          // The rules are pure functions, and most of their time was loading the compiler anew for each file.
          isolate: false,
          maxWorkers: 1,
        },
      },
    ],
  },
});
