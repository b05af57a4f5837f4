import { posix } from 'node:path';
import type { Finding, RepositoryFile } from '../source-file.ts';
import { isTestOnly } from '../source-file.ts';

// Assembled from halves, so that this file does not contain the words it looks for.
const mark = new RegExp(`\\b(${['TO|DO', 'FIX|ME', 'XX|X', 'HA|CK'].map(join).join('|')})\\b`);
const dataFolder = `..${'/shared'}`;

function join(halves: string): string {
  return halves.replace('|', '');
}

export function findMarks(files: readonly RepositoryFile[]): Finding[] {
  return findLines(files, (line, path) => {
    const found = path === 'package-lock.json' ? undefined : mark.exec(line)?.[0];
    return found && `${found}: do it now, or record it where work is planned`;
  });
}

/**
 * Finds references to paths outside the project. Tests and benchmarks may look for ledger data next to the repository.
 */
export function findOutsidePaths(files: readonly RepositoryFile[]): Finding[] {
  return findLines(files, (line, path) => {
    if (isTestOnly(path) || path.startsWith('bench/') || !line.includes(dataFolder))
      return undefined;
    return `mentions ${dataFolder}: only tests and benchmarks may look outside the repository`;
  });
}

type JudgeLine = (line: string, path: string) => string | undefined;

function findLines(files: readonly RepositoryFile[], judge: JudgeLine): Finding[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => {
      const message = judge(line, path);
      return message === undefined ? [] : [{ path, line: i + 1, message }];
    }),
  );
}

const fileBytesMax = 512 * 1024;

export function findLargeFiles(files: readonly RepositoryFile[]): Finding[] {
  return files
    .filter(({ text }) => Buffer.byteLength(text) > fileBytesMax)
    .map(({ path }) => ({ path, message: 'larger than 512 KiB: generate it from a seed instead' }));
}

/** With at most this many files, a person can still read the list of the files of a folder quickly. */
const folderFilesMax = 27;

/** Finds folders of product code with too many files. Tests do not count. */
export function findLargeFolders(files: readonly RepositoryFile[]): Finding[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    if (!/^packages\/[^/]+\/src\/.*\.tsx?$/.test(path) || isTestOnly(path)) continue;
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > folderFilesMax)
    .map(([path, count]) => ({ path, message: `${count} files: divide the folder by topic` }));
}

const vagueNames = new Set(['util', 'utils', 'helper', 'helpers', 'misc', 'common', 'index']);

export function findBadNames(files: readonly RepositoryFile[]): Finding[] {
  return files.flatMap(({ path }) => {
    const message = judgeName(path);
    return message === undefined ? [] : [{ path, message }];
  });
}

function judgeName(path: string): string | undefined {
  if (!/\.(tsx?|js)$/.test(path)) return undefined;
  const name = posix.basename(path).split('.')[0] ?? '';
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) return 'name files in kebab-case';
  if (vagueNames.has(name)) return `${name} says nothing: name the file after its main export`;
  if (/(^|-)v1(-|$)/.test(name))
    return 'a name with v1 is not meaningful: name what the file contains';
  return undefined;
}
