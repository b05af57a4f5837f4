import { defineConfig } from 'vitest/config';

/** `npm run test:node`: needs a node's binary and minutes, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    globalSetup: ['./test/node/require-node.ts', './test/build-once.ts'],
    include: ['test/node/*.test.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
