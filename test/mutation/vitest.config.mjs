/** The tests that run against each mutant of a folder. `run.mjs` writes the mutants and sets the variable. */
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';

const folder = process.env['MUTATION_FOLDER'] ?? 'chain';
const { code } = JSON.parse(readFileSync(`.mutation/${folder}.work.json`, 'utf8'));

/** These tests are excluded, because they are slow and faster ones cover the same code. */
const exclude = {
  ingest: [
    '**/alarms.test.ts',
    '**/backfill.test.ts',
    '**/faults.test.ts',
    '**/in-time.test.ts',
    '**/ingester.test.ts',
    '**/kill.test.ts',
    '**/kill-at-calls.test.ts',
    '**/prepared-block.test.ts',
  ],
};

/** The slowest tests run last, because few mutants are left by then. */
const slowest =
  /\.property\.|\/dataset\/(dataset|sealing)\.test|\/upgrade-dataset\.test|\/import-blocks\.test/;

class SlowestLast extends BaseSequencer {
  async sort(files) {
    const order = ({ moduleId }) => `${slowest.test(moduleId) ? 1 : 0} ${moduleId}`;
    return [...files].sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }
}

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      transform: (_source, id) => (code[id] === undefined ? null : { code: code[id], map: null }),
    },
  ],
  test: {
    globalSetup: './test/build-once.ts',
    setupFiles: './test/mutation/setup.mjs',
    runner: './test/mutation/mutant-runner.mjs',
    include: [`packages/server/src/${folder}/**/*.test.ts`],
    exclude: exclude[folder] ?? [],
    sequence: { sequencer: SlowestLast },
    reporters: [],
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    dangerouslyIgnoreUnhandledErrors: true,
    // A mutant that makes a test wait for ever costs this much time.
    testTimeout: 8_000,
    hookTimeout: 20_000,
  },
});
