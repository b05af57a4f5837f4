import { expect, test } from 'vitest';
import {
  findBadNames,
  findLargeFiles,
  findLargeFolders,
  findMarks,
  findOutsidePaths,
} from './text.ts';

test.each(['TO-DO', 'FIX-ME', 'XX-X', 'HA-CK'])(
  'error: the mark %s is found, with its line',
  (halves) => {
    const word = halves.replace('-', '');
    expect(findMarks([{ path: 'README.md', text: `fine\n${word}: later` }])).toEqual([
      {
        path: 'README.md',
        line: 2,
        message: `${word}: do it now, or record it where work is planned`,
      },
    ]);
    expect(findMarks([{ path: 'README.md', text: `${word}ING` }])).toEqual([]);
  },
);

test('error: only tests and benchmarks may use a path outside the repository', () => {
  const text = "const folder = '../shared/data';";
  expect(findOutsidePaths([{ path: 'packages/server/src/base/a.ts', text }])).toHaveLength(1);
  expect(findOutsidePaths([{ path: 'README.md', text }])).toHaveLength(1);
  expect(findOutsidePaths([{ path: 'packages/server/src/base/a.test.ts', text }])).toEqual([]);
  expect(findOutsidePaths([{ path: 'bench/normalize.ts', text }])).toEqual([]);
});

test('limit: a file of more than 512 KiB is found', () => {
  const fits = { path: 'a.json', text: 'x'.repeat(512 * 1024) };
  expect(findLargeFiles([fits])).toEqual([]);
  expect(findLargeFiles([{ ...fits, text: `${fits.text}x` }])).toHaveLength(1);
});

test('limit: a folder of more than 27 source files is found, without counting its tests', () => {
  const folder = 'packages/server/src/stream';
  const sources = Array.from({ length: 27 }, (_, i) => ({ path: `${folder}/a${i}.ts`, text: '' }));
  const tests = sources.map(({ path }) => ({ path: path.replace('.ts', '.test.ts'), text: '' }));
  expect(findLargeFolders([...sources, ...tests])).toEqual([]);
  const more = { path: `${folder}/b.ts`, text: '' };
  expect(findLargeFolders([...sources, ...tests, more])).toEqual([
    { path: folder, message: '28 files: divide the folder by topic' },
  ]);
});

test('error: file names that are not in kebab-case, meaningless or versioned are found', () => {
  const judge = (path: string) => findBadNames([{ path, text: '' }]).length;
  expect(judge('packages/server/src/base/worker-url.test.ts')).toBe(0);
  expect(judge('packages/server/src/base/workerUrl.ts')).toBe(1);
  expect(judge('packages/server/src/base/utils.ts')).toBe(1);
  expect(judge('packages/server/src/base/index.ts')).toBe(1);
  expect(judge('packages/server/src/base/format-v1.ts')).toBe(1);
  expect(judge('LICENSE')).toBe(0);
});
