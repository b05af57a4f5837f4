import { defineConfig } from 'vitest/config';

/** The configuration of tests with real object stores and message servers. The tests start these themselves, one file after another. */
export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    globalSetup: ['./test/cluster/install-servers.ts', './test/build-once.ts'],
    include: ['test/cluster/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 900_000,
    hookTimeout: 300_000,
  },
});
