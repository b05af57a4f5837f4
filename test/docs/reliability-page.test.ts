import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';

const read = (path: string) => readFileSync(`${repositoryRoot}/${path}`, 'utf8');
const page = read('docs/reliability.md');

/** `mark` is the text that the name of a test for this row contains. */
const rows = [...page.matchAll(/^\| (.+?) \| .+ \| (`.*`) \|$/gm)].map(
  ([, id = '', cell = '']) => ({
    mark: /^[A-Z]-\d+$/.test(id) ? id : `trap: ${id}`,
    files: [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  }),
);

test('behavior: the tests of each row contain its id', () => {
  expect(rows.length).toBeGreaterThan(90);
  for (const { mark, files } of rows) {
    expect(files.length, mark).toBeGreaterThan(0);
    for (const path of files) {
      expect(existsSync(`${repositoryRoot}/${path}`), path).toBe(true);
      expect(read(path).includes(mark), `${path} contains ${mark}`).toBe(true);
    }
  }
});

test('behavior: every id in a test name is on the page', () => {
  const named = listRepositoryFiles()
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) => read(path).match(/\b[IFLS]-\d{2}\b/g) ?? []);
  const listed = new Set(rows.map(({ mark }) => mark));
  expect([...new Set(named)].filter((id) => !listed.has(id))).toEqual([]);
});
