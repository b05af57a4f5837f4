import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  GROUP_LIMITS,
  pageKeyCount,
  SEGMENT_LIMITS,
} from '../../packages/server/src/segment/limits.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/segment-format.md');

/** Returns the columns of a table in the source with their comments, as the page shows them. */
function columnTables(path: string): string {
  const body = /_?COLUMNS = \{\n([\s\S]*?)\n\} as const/.exec(read(path))?.[1] ?? '';
  const head = '| Column | Type | |\n|---|---|---|';
  const lines = body.split('\n').map((line) => {
    const column = /^ {2}(\w+): '(\w+)',(?: \/\/ (.*))?$/.exec(line);
    if (column !== null) return `| \`${column[1]}\` | ${column[2]} | ${column[3] ?? ''} |`;
    const title = / {2}\/\/ (.)(.*)$/.exec(line) as RegExpExecArray;
    return `\n${title[1]?.toUpperCase()}${title[2]}:\n\n${head}`;
  });
  const text = lines.join('\n').trim();
  return text.startsWith('|') ? `${head}\n${text}` : text;
}

function shown(marker: string): string {
  return (
    new RegExp(`<!-- ${marker} -->\\n([\\s\\S]*?)\\n?<!-- end -->`).exec(page)?.[1]?.trim() ?? ''
  );
}

test.each([
  ['block columns', 'packages/server/src/segment/block-columns.ts', 15],
  ['columns', 'packages/server/src/segment/columns.ts', 68],
])('behavior: the table of %s is that of the code', (marker, path, columnCountMin) => {
  const wanted = columnTables(path);
  expect(wanted.match(/^\| `/gm)?.length).toBeGreaterThanOrEqual(columnCountMin);
  expect(shown(marker)).toBe(wanted);
});

test('behavior: the page has the limits of the code', () => {
  const numbers = [
    ...Object.values(SEGMENT_LIMITS),
    GROUP_LIMITS.transactionCountMax,
    GROUP_LIMITS.instructionCountMax,
    GROUP_LIMITS.blockCountMax,
    pageKeyCount,
  ];
  for (const number of numbers) expect(page).toContain(number.toLocaleString('en-US'));
});
