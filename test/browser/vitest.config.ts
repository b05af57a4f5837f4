/** The web application in a real browser, against the real service. It needs Chromium: `apt-get install chromium`. */
import { defineConfig } from 'vitest/config';

const frames = 'test/browser/frames.test.ts';

/** Projects run one after the other. */
const project = (
  name: string,
  order: number,
  files: { readonly include: string[]; readonly exclude?: string[] },
) => ({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name,
    ...files,
    sequence: { groupOrder: order },
    // Two files, and two of `shapes`, run at a time, because each waits for blocks and responses half of the time.
    maxWorkers: 2,
    maxConcurrency: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

export default defineConfig({
  test: {
    globalSetup: './test/build-once.ts',
    projects: [
      project('pages', 0, { include: ['test/browser/*.test.ts'], exclude: [frames] }),
      // It measures, so nothing else runs meanwhile, and it has a command of its own.
      project('frames', 1, { include: [frames] }),
    ],
  },
});
