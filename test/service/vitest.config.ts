/** The service and commands as processes: kills, restarts, exhausted memory, configuration, imports, files, mirrors and the image. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name: 'service',
    globalSetup: './test/build-once.ts',
    include: ['test/service/**/*.test.ts'],
    // `npm test` runs this file.
    exclude: ['test/service/demo.test.ts'],
    maxWorkers: availableParallelism(),
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
