import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const shared = {
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
};

/** Layers that listen for signals, start processes and hold clocks of their own: each file in a process of its own. */
const composed = ['ingest', 'app', 'cli'].map(
  (layer) => `packages/server/src/${layer}/**/*.test.ts`,
);

/** Whole programs, the slowest of all; projects run in the order of their names, and these must not come last. */
const programs = ['bench', 'command', 'service'].map((folder) => `test/${folder}/**/*.test.ts`);

const timing = {
  // The default leaves one core idle, which on two is half of them.
  maxWorkers: availableParallelism(),
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

/** A third of their time they wait for something, for a process to start or a deadline to pass: one more than cores. */
const waiting = { ...timing, maxWorkers: availableParallelism() + 1, sequence: { groupOrder: 1 } };

export default defineConfig({
  test: {
    globalSetup: './test/build-once.ts',
    projects: [
      {
        ...shared,
        test: {
          name: 'layers',
          ...timing,
          include: ['packages/*/src/**/*.test.ts'],
          exclude: composed,
          // They share no state but modules, and a third of their time was loading those anew for each file.
          isolate: false,
        },
      },
      { ...shared, test: { name: 'programs', ...waiting, include: programs } },
      {
        ...shared,
        test: {
          name: 'whole',
          ...waiting,
          include: [...composed, 'test/*/**/*.test.ts'],
          // The tests against a real node have a configuration of their own.
          exclude: [...programs, 'test/tidy/**', 'test/node/**'],
        },
      },
      {
        ...shared,
        test: {
          name: 'tidy',
          sequence: { groupOrder: 2 },
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
