import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * Tests spend a third of their time waiting, for a process to start or a deadline to pass, so there is one worker more
 * than cores. Files share loaded modules (`isolate: false`), because loading them again took a third of the time of
 * most files.
 */
const shared = {
  maxWorkers: availableParallelism() + 1,
  isolate: false,
  // Tests take seconds on an idle machine; the rest is reserve for a busy one.
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

const project = (name: string, include: readonly string[], exclude: readonly string[] = []) => ({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: { ...shared, name, include: [...include], exclude: [...exclude] },
});

/**
 * Tests that run whole programs are the slowest. Projects run in the order of their names, and these must not come
 * last.
 */
const programs = [
  ...['command', 'service'].map((folder) => `test/${folder}/**/*.test.ts`),
  'test/examples/token-balances.test.ts',
];
const tidy = ['test/tidy/**/*.test.ts'];
/** The tests of benchmarks, in a browser, of a cluster, against a real node, and of consumers under forks have configurations of their own. */
const apart = ['bench', 'browser', 'client', 'cluster', 'examples', 'guide', 'node'].map(
  (folder) => `test/${folder}/**`,
);

export default defineConfig({
  test: {
    globalSetup: './test/build-once.ts',
    projects: [
      // `npm run test:browser` runs the rest.
      project('browser', ['test/browser/short.test.ts']),
      project('layers', ['packages/*/{src,build}/**/*.test.ts']),
      project('programs', programs),
      project('tidy', tidy),
      project('whole', ['test/*/**/*.test.ts'], [...programs, ...tidy, ...apart]),
    ],
  },
});
