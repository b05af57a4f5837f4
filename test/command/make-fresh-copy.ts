import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';

/**
 * Returns a copy of the repository as after `git clone` and `npm ci`: the files that git would provide, without a
 * build. Files are copied one by one, because a clone would lack uncommitted changes. Installed packages are linked;
 * our own packages are linked inside the copy, as npm does.
 */
export function makeFreshCopy(): string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-fresh-'));
  const files = listRepositoryFiles();
  for (const folder of new Set(files.map(dirname))) {
    const target = join(root, folder);
    mkdirSync(target, { recursive: true });
    const copied = files.filter((file) => dirname(file) === folder);
    // `cp` keeps modification times to the nanosecond, which `node:fs` does not. A copied build is therefore up to
    // date.
    execFileSync('cp', ['-p', ...copied, target], { cwd: repositoryRoot });
  }
  linkPackages(root);
  return root;
}

/**
 * Copies the build of the repository, or of a copy, into another copy. Modification times are kept, so that it is up to
 * date.
 */
export function copyBuild(from: string, to: string): void {
  const packages = readdirSync(join(from, 'packages')).map((name) => join('packages', name));
  for (const folder of [...packages, 'bench']) {
    const build = join(from, folder, 'dist');
    if (existsSync(build)) execFileSync('cp', ['-pR', build, join(to, folder)]);
  }
}

function linkPackages(root: string): void {
  const installed = join(repositoryRoot, 'node_modules');
  const modules = join(root, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const isForeign = (name: string) => !name.startsWith('.') && name !== '@sluice';
  linkFolders(installed, readdirSync(installed).filter(isForeign), modules);
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
 * Links the files one by one, so that the compiler sees the packages inside the copy and a copied build refers to the
 * same ones. Across two disks only links to folders are possible, which work but cause a larger rebuild.
 */
function linkFolders(source: string, names: readonly string[], target: string): void {
  const { status } = spawnSync('cp', ['-RPl', ...names, target], { cwd: source, stdio: 'ignore' });
  if (status === 0) return;
  for (const name of names) {
    rmSync(join(target, name), { recursive: true, force: true });
    symlinkSync(join(source, name), join(target, name));
  }
}
