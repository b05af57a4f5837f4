/** The slow tests next to the sources, run as `npm test` runs the others. */
import { defineConfig } from 'vitest/config';
import fast from '../../vitest.config.ts';
import { slowFiles } from './slow-files.ts';

export default defineConfig({
  ...fast,
  test: { ...fast.test, name: 'slow', include: slowFiles, exclude: [] },
});
