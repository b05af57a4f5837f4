import { defineConfig } from 'vitest/config';

/** Real object stores and message servers: started by the tests themselves, one file after another. */
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
