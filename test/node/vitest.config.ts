import { defineConfig } from 'vitest/config';

/**
 * The configuration of `npm run test:node`. It needs a node's binary and takes minutes, so it is not part of `npm
 * test`.
 */
export default defineConfig({
  test: {
    globalSetup: ['./test/node/require-node.ts', './test/build-once.ts'],
    include: ['test/node/*.test.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
