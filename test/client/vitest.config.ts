/**
 * The configuration of tests that run clients, the examples, the programs of the guide and `sluice sync` with a service under forks and kills. They take
 * long.
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name: 'consumers',
    globalSetup: './test/build-once.ts',
    include: ['client', 'examples', 'guide', 'sync'].map((folder) => `test/${folder}/**/*.test.ts`),
    // One file runs at a time, because each keeps both cores busy.
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
