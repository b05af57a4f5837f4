import { expect, test } from 'vitest';
import { parseSource } from '../source-file.ts';
import { findBarrels, findCycles, findDeadFiles } from './imports.ts';

const base = 'packages/server/src/base';

function parse(sources: Record<string, string>) {
  return Object.entries(sources).map(([name, text]) =>
    parseSource({ path: `${base}/${name}`, text }),
  );
}

test('error: a cycle of any length is found, including type imports', () => {
  const files = parse({
    'a.ts': "import { b } from './b.ts';",
    'b.ts': "import type { C } from './c.ts';",
    'c.ts': "import { a } from './a.ts';",
    'd.ts': "import { a } from './a.ts';",
  });
  const cycle = `${base}/a.ts → ${base}/b.ts → ${base}/c.ts → ${base}/a.ts`;
  expect(findCycles(files)).toEqual([
    { path: `${base}/a.ts`, message: `import cycle ${cycle}: move what both need to a third file` },
  ]);
});

test('behavior: a file that is imported on two paths is not a cycle', () => {
  const files = parse({
    'a.ts': "import { b } from './b.ts'; import { c } from './c.ts';",
    'b.ts': "import { c } from './c.ts';",
    'c.ts': '',
  });
  expect(findCycles(files)).toEqual([]);
});

test('error: a re-export is found', () => {
  const files = parse({ 'a.ts': "export const a = 1;\nexport { b } from './b.ts';", 'b.ts': '' });
  expect(findBarrels(files)).toEqual([
    {
      path: `${base}/a.ts`,
      line: 2,
      message: 're-exports ./b.ts: import it where it is defined',
    },
  ]);
});

test('behavior: the entry file of a kernel may re-export, shared files may not', () => {
  const text = "export { pack } from './lz';";
  const assembly = 'packages/kernels/src/assembly';
  expect(findBarrels([parseSource({ path: `${assembly}/codec.ts`, text })])).toEqual([]);
  expect(findBarrels([parseSource({ path: `${assembly}/common/a.ts`, text })])).toHaveLength(1);
});

test('error: a file that is imported nowhere is dead', () => {
  const files = parse({ 'a.ts': '', 'b.ts': '', 'c.test.ts': "import { b } from './b.ts';" });
  expect(findDeadFiles(files).map(({ path }) => path)).toEqual([`${base}/a.ts`]);
});

test('behavior: a file is used if a thread is started from it, or if it is an entry point', () => {
  const files = [
    ...parse({
      'a.test.ts': "new Worker(workerUrl(import.meta.url, './thread.ts'));",
      'thread.ts': '',
    }),
    parseSource({ path: 'packages/server/src/cli/main.ts', text: '' }),
  ];
  expect(findDeadFiles(files)).toEqual([]);
});
