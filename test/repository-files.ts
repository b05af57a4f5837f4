import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = fileURLToPath(new URL('../', import.meta.url));

/** Lists tracked and untracked files that are not ignored, without deleted ones. */
export function listRepositoryFiles(): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const text = execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' });
  const files = text.split('\0').filter((file) => file !== '');
  return files.filter((file) => existsSync(join(repositoryRoot, file)));
}
