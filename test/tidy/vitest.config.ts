/** The rules of the repository, which `npm run check` runs. */
import { defineConfig } from 'vitest/config';
import { builtFiles, importBuild } from '../import-build.ts';

export default defineConfig({
  plugins: [importBuild()],
  test: {
    name: 'tidy',
    globalSetup: './test/build-once.ts',
    server: { deps: { external: [builtFiles] } },
    include: ['test/tidy/**/*.test.ts'],
    maxWorkers: 1,
    isolate: false,
    testTimeout: 180_000,
  },
});
