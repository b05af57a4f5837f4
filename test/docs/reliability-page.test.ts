import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listRepositoryFiles, repositoryRoot } from '../repository-files.ts';

const read = (path: string) => readFileSync(`${repositoryRoot}/${path}`, 'utf8');
const page = read('docs/reliability.md');

/** `mark` is what a test that shows the row has in its name. */
const rows = [...page.matchAll(/^\| (.+?) \| .+ \| (`.*`) \|$/gm)].map(
  ([, id = '', cell = '']) => ({
    mark: /^[A-Z]-\d+$/.test(id) ? id : `trap: ${id}`,
    files: [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  }),
);

test('behavior: every promise on the page is named by the tests that it names', () => {
  expect(rows.length).toBeGreaterThan(90);
  for (const { mark, files } of rows) {
    expect(files.length, mark).toBeGreaterThan(0);
    for (const path of files) {
      expect(existsSync(`${repositoryRoot}/${path}`), path).toBe(true);
      expect(read(path).includes(mark), `${path} shows ${mark}`).toBe(true);
    }
  }
});

test('behavior: every promise that a test names is on the page', () => {
  const named = listRepositoryFiles()
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) => read(path).match(/\b[IFLS]-\d{2}\b/g) ?? []);
  const listed = new Set(rows.map(({ mark }) => mark));
  expect([...new Set(named)].filter((id) => !listed.has(id))).toEqual([]);
});
