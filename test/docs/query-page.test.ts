import { readFileSync } from 'node:fs';
import { DIALECTS } from '@sluice/protocol/dialect';
import { fieldRows, KINDS, type WireType } from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { renderFieldTables, renderItemTables, renderLimits } from '@sluice/protocol/render-tables';
import { expect, test } from 'vitest';
import { parseQueryBody } from '../../packages/server/src/query/parse-query.ts';
import { makeSet } from '../../packages/server/src/query/testing/test-sets.ts';
import { readGoldenQueries } from '../golden/read-golden.ts';

const page = readFileSync(new URL('../../docs/query.md', import.meta.url), 'utf8');

/** Returns the text between the markers of a section that is generated from the protocol tables. */
function section(name: string): string | undefined {
  const pattern = new RegExp(`<!-- ${name}:start -->\n([^]*?)<!-- ${name}:end -->`);
  return pattern.exec(page)?.[1];
}

/** Returns the code blocks of a language. */
function codeBlocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

test('behavior: the page has the tables of the protocol', () => {
  expect(section('items')).toBe(renderItemTables());
  expect(section('fields')).toBe(renderFieldTables());
  expect(section('limits')).toBe(renderLimits());
});

test('behavior: every example is a valid query', () => {
  const exchanges = makeSet('exchanges', []);
  const sets = { find: () => exchanges };
  const examples = codeBlocks('json');
  expect(examples.length).toBeGreaterThan(4);
  for (const example of examples) {
    parseQueryBody(example, { limits: QUERY_LIMITS, dialects: DIALECTS, sets });
  }
});

test('behavior: every response line on the page is a line of a golden query', () => {
  const lines = new Set(readGoldenQueries().flatMap(({ expected }) => expected.split('\n')));
  const shown = codeBlocks('jsonl').flatMap((code) => code.trimEnd().split('\n'));
  expect(shown.length).toBeGreaterThan(0);
  for (const line of shown) expect(lines).toContain(line);
});

/** Returns the names of the fields with these types, each once, in wire order. */
function fieldsOf(...wires: readonly WireType[]): readonly string[] {
  const names = KINDS.flatMap((kind) =>
    fieldRows(kind).flatMap(([name, { wire }]) => (wires.includes(wire) ? [name] : [])),
  );
  return [...new Set(names)];
}

const listOf = (names: readonly string[], last: string) =>
  `${names.map((name) => `\`${name}\``).join(', ')}${last}`;

test('behavior: the page lists the quantities that are text in the dialect solana', () => {
  const names = fieldsOf('quantity');
  const list = listOf(names.slice(0, -1), ` and \`${names.at(-1)}\` are decimal text`);
  expect(page).toContain(list);
});

test('behavior: the guide to exact integers lists all fields of 64 bits', () => {
  const url = new URL('../../docs/guide/exact-integers.md', import.meta.url);
  const guide = readFileSync(url, 'utf8').replaceAll('\n', ' ');
  const [seconds = ''] = fieldsOf('seconds');
  expect(fieldsOf('seconds')).toHaveLength(1);
  const quantities = fieldsOf('quantity');
  expect(guide).toContain(`These are the fields ${listOf(quantities, ` and \`${seconds}\`.`)}`);
  expect(guide).toContain(`const names = '${[...quantities, seconds].join('|')}';`);
});
