/** The web application in a real browser, against the real service. It needs Chromium: `apt-get install chromium`. */
import { defineConfig } from 'vitest/config';

/** `npm run screenshots` sets this to the folder to write to. */
const isForScreenshots = process.env['SCREENSHOTS'] !== undefined;

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name: 'browser',
    globalSetup: './test/build-once.ts',
    include: [isForScreenshots ? 'test/browser/screenshots.test.ts' : 'test/browser/*.test.ts'],
    // `npm test` runs the short tests; these are the others.
    exclude: isForScreenshots
      ? []
      : ['test/browser/screenshots.test.ts', 'test/browser/short.test.ts'],
    // One file runs at a time, because a browser and a service keep both cores busy.
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
