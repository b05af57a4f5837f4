import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * A third of their time tests wait for something, for a process to start or a deadline to pass: one worker more than cores.
 * Files share no state but modules, and a third of the time of most was loading those anew for each file.
 */
const shared = {
  maxWorkers: availableParallelism() + 1,
  isolate: false,
  // Seconds on an idle machine; the rest is for one that is busy with other things.
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

const project = (name: string, include: readonly string[], exclude: readonly string[] = []) => ({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: { ...shared, name, include: [...include], exclude: [...exclude] },
});

/** Whole programs, the slowest of all; projects run in the order of their names, and these must not come last. */
const programs = ['bench', 'command', 'service'].map((folder) => `test/${folder}/**/*.test.ts`);
const tidy = ['test/tidy/**/*.test.ts'];
/** The tests against a real node have a configuration of their own. */
const node = ['test/node/**'];

export default defineConfig({
  test: {
    globalSetup: './test/build-once.ts',
    projects: [
      project('layers', ['packages/*/src/**/*.test.ts']),
      project('programs', programs),
      project('tidy', tidy),
      project('whole', ['test/*/**/*.test.ts'], [...programs, ...tidy, ...node]),
    ],
  },
});
