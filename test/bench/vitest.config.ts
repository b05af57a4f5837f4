/** The configuration of tests that run the benchmarks on little data. They run whole programs and take long. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name: 'bench',
    globalSetup: './test/build-once.ts',
    include: ['test/bench/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
