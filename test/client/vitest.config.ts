/** Clients, the examples and the guide's programs against the service under forks, cuts and kills: whole programs that run for long. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name: 'consumers',
    globalSetup: './test/build-once.ts',
    include: ['client', 'examples', 'guide'].map((folder) => `test/${folder}/**/*.test.ts`),
    // One file at a time: each keeps both cores busy.
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
