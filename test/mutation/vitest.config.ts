/** The tests that Stryker runs against each mutant: those of the mutated folder, without the global build. */
import { defineConfig } from 'vitest/config';

const folder = process.env['MUTATION_FOLDER'] ?? 'chain';

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    name: 'mutation',
    include: [`packages/server/src/${folder}/**/*.test.ts`],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
