/** The rules of the repository. `npm run check` runs them. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { name: 'tidy', include: ['test/tidy/**/*.test.ts'], testTimeout: 60_000 },
});
