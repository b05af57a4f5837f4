/**
 * Tests import the build of our packages instead of the sources. Node loads built files by itself, while the test runner
 * would transform every source for itself and access every import through a function.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Plugin } from 'vite';
import { repositoryRoot } from './repository-files.ts';

const packages = join(repositoryRoot, 'packages');

/** Returns the built file of a source, or `undefined` for files that are not built, such as tests. */
function builtFileOf(path: string): string | undefined {
  if (!path.startsWith(packages) || !path.endsWith('.ts') || path.includes('/testing/'))
    return undefined;
  const built = path.replace('/src/', '/dist/').replace(/\.ts$/, '.js');
  return built.includes('/dist/') && existsSync(built) ? built : undefined;
}

/** A plugin of Vite that resolves imports of sources to the build. */
export function importBuild(): Plugin {
  return {
    name: 'import-build',
    enforce: 'pre',
    resolveId(source, importer) {
      if (importer === undefined || !source.startsWith('.')) return null;
      return builtFileOf(resolve(dirname(importer), source)) ?? null;
    },
  };
}

/** The paths that Node loads by itself. */
export const builtFiles = new RegExp(`^${packages}/\\w+/dist/`);
