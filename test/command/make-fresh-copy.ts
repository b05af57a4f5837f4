import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';

/**
 * The repository as a stranger has it after `git clone` and `npm ci`: what git would hand over, nothing that is built.
 * It is copied file by file, because a clone would lack the change under test until that is committed. Packages are
 * links to those installed here; our own are linked inside the copy, as npm does.
 */
export function makeFreshCopy(): string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-fresh-'));
  for (const file of listRepositoryFiles()) {
    const target = join(root, file);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(repositoryRoot, file), target);
  }
  linkPackages(root);
  return root;
}

function linkPackages(root: string): void {
  const installed = join(repositoryRoot, 'node_modules');
  const modules = join(root, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const name of readdirSync(installed)) {
    if (name.startsWith('.') || name === '@sluice') continue;
    symlinkSync(join(installed, name), join(modules, name));
  }
  mkdirSync(join(modules, '@sluice'));
  for (const name of readdirSync(join(root, 'packages'))) {
    symlinkSync(join('..', '..', 'packages', name), join(modules, '@sluice', name));
    // Where two packages need two versions of a third, npm installs one of them here.
    const nested = join(repositoryRoot, 'packages', name, 'node_modules');
    if (existsSync(nested)) symlinkSync(nested, join(root, 'packages', name, 'node_modules'));
  }
  symlinkSync(join('..', '@sluice', 'server', 'bin', 'sluice.js'), join(modules, '.bin', 'sluice'));
}
