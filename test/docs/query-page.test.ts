import { readFileSync } from 'node:fs';
import { DIALECTS } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { renderFieldTables, renderItemTables, renderLimits } from '@sluice/protocol/render-tables';
import { expect, test } from 'vitest';
import { parseQueryBody } from '../../packages/server/src/query/parse-query.ts';
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
  const examples = codeBlocks('json');
  expect(examples.length).toBeGreaterThan(4);
  for (const example of examples) {
    parseQueryBody(example, { limits: QUERY_LIMITS, dialects: DIALECTS });
  }
});

test('behavior: every response line on the page is a line of a golden query', () => {
  const lines = new Set(readGoldenQueries().flatMap(({ expected }) => expected.split('\n')));
  const shown = codeBlocks('jsonl').flatMap((code) => code.trimEnd().split('\n'));
  expect(shown.length).toBeGreaterThan(0);
  for (const line of shown) expect(lines).toContain(line);
});
