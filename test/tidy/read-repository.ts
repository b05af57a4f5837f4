import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';
import type { RepositoryFile } from './source-file.ts';

/** Every file that git holds or would hold. */
export function readRepository(): RepositoryFile[] {
  return listRepositoryFiles().map((path) => ({
    path,
    text: readFileSync(join(repositoryRoot, path), 'utf8'),
  }));
}
