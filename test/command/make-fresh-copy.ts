import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';

/**
 * The repository as a stranger has it after `git clone` and `npm ci`: what git would hand over, nothing that is built.
 * It is copied file by file, because a clone would lack the change under test until that is committed. Packages are
 * those installed here, by links; our own are linked inside the copy, as npm does.
 */
export function makeFreshCopy(): string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-fresh-'));
  const files = listRepositoryFiles();
  for (const folder of new Set(files.map(dirname))) {
    const target = join(root, folder);
    mkdirSync(target, { recursive: true });
    const copied = files.filter((file) => dirname(file) === folder);
    // Times are kept to the nanosecond, which no function of `node:fs` does: a build that is copied too is up to date.
    execFileSync('cp', ['-p', ...copied, target], { cwd: repositoryRoot });
  }
  linkPackages(root);
  return root;
}

/** What was built of the repository, or of a copy, for another copy: times are kept, so that it counts as up to date. */
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
    // Where two packages need two versions of a third, npm installs one of them here.
    const nested = join(repositoryRoot, 'packages', name, 'node_modules');
    if (existsSync(nested)) symlinkSync(nested, join(root, 'packages', name, 'node_modules'));
  }
  symlinkSync(join('..', '@sluice', 'server', 'bin', 'sluice.js'), join(modules, '.bin', 'sluice'));
}

/**
 * File by file, so that for the compiler packages are inside the copy, and a build that came from elsewhere is of the
 * same ones, with only what changed to look at. Between two disks there are links to folders alone, which are as good but for that.
 */
function linkFolders(source: string, names: readonly string[], target: string): void {
  const { status } = spawnSync('cp', ['-RPl', ...names, target], { cwd: source, stdio: 'ignore' });
  if (status === 0) return;
  for (const name of names) {
    rmSync(join(target, name), { recursive: true, force: true });
    symlinkSync(join(source, name), join(target, name));
  }
}
