import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';
import type { RepositoryFile } from './source-file.ts';

/** Returns every file that is tracked by git, or untracked and not ignored. */
export function readRepository(): RepositoryFile[] {
  return listRepositoryFiles().map((path) => ({
    path,
    text: readFileSync(join(repositoryRoot, path), 'utf8'),
  }));
}
