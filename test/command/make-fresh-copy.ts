import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';

function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), 'sluice-fresh-'));
}

/**
 * Returns a copy of the repository as after `git clone`: the files that git would provide, without a build and without
 * installed packages. Files are copied one by one, because a clone would lack uncommitted changes.
 */
export function copyRepository(): string {
  const root = makeFolder();
  const files = listRepositoryFiles();
  for (const folder of new Set(files.map(dirname))) {
    const target = join(root, folder);
    mkdirSync(target, { recursive: true });
    const copied = files.filter((file) => dirname(file) === folder);
    // `cp` keeps modification times to the nanosecond, which `node:fs` does not. A copied build is therefore up to
    // date.
    execFileSync('cp', ['-p', ...copied, target], { cwd: repositoryRoot });
  }
  return root;
}

/** Returns a copy of a copy, with the same modification times. */
export function copyAgain(from: string): string {
  const root = makeFolder();
  execFileSync('cp', ['-pR', `${from}/.`, root]);
  return root;
}

/** Copies the build of the repository into a copy. Modification times are kept, so that it is up to date. */
export function copyBuild(to: string): void {
  const packages = readdirSync(join(repositoryRoot, 'packages'));
  for (const folder of [...packages.map((name) => join('packages', name)), 'bench']) {
    const build = join(repositoryRoot, folder, 'dist');
    if (existsSync(build)) execFileSync('cp', ['-pR', build, join(to, folder)]);
  }
}

/**
 * Links installed packages into a copy. Our own packages are linked inside the copy, as npm does. A copy that is built
 * needs links to `files`, so that the compiler sees the packages inside the copy and a copied build refers to the same
 * ones. Links to `folders` are cheaper.
 */
export function linkPackages(root: string, to: 'files' | 'folders'): void {
  const installed = join(repositoryRoot, 'node_modules');
  const modules = join(root, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const isForeign = (name: string) => !name.startsWith('.') && name !== '@sluice';
  const names = readdirSync(installed).filter(isForeign);
  if (to === 'folders' || !linkFiles(installed, names, modules)) {
    for (const name of names) {
      rmSync(join(modules, name), { recursive: true, force: true });
      symlinkSync(join(installed, name), join(modules, name));
    }
  }
  mkdirSync(join(modules, '@sluice'));
  for (const name of readdirSync(join(root, 'packages'))) {
    symlinkSync(join('..', '..', 'packages', name), join(modules, '@sluice', name));
    // If two packages need different versions of a third, npm installs one of them here.
    const nested = join(repositoryRoot, 'packages', name, 'node_modules');
    if (existsSync(nested)) symlinkSync(nested, join(root, 'packages', name, 'node_modules'));
  }
  symlinkSync(join('..', '@sluice', 'server', 'bin', 'sluice.js'), join(modules, '.bin', 'sluice'));
}

/**
 * Creates hard links to all files. Returns false if the folders are on different disks; symbolic links to folders then work, but cause a larger
 * rebuild.
 */
function linkFiles(source: string, names: readonly string[], target: string): boolean {
  const { status } = spawnSync('cp', ['-RPl', ...names, target], { cwd: source, stdio: 'ignore' });
  return status === 0;
}
