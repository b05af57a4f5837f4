import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chunkBytes } from '../../packages/server/src/segment/encoding/chunk-checksums.ts';
import { CODING, DOMAINS } from '../../packages/server/src/segment/layout/columns.ts';
import {
  footerBytes,
  formatVersion,
  headerBytes,
  PART,
} from '../../packages/server/src/segment/layout/directory.ts';
import {
  busiestAccountsMax,
  GROUP_LIMITS,
  pageKeyCount,
  pageTransactions,
  SEGMENT_LIMITS,
} from '../../packages/server/src/segment/layout/limits.ts';
import { renderBlockColumns, renderColumns } from './render-column-tables.ts';

const page = readFileSync(new URL('../../docs/segment-format.md', import.meta.url), 'utf8');
/** Sentences may be broken into lines anywhere. */
const sentences = page.replaceAll(/\s+/g, ' ');

function shown(marker: string): string {
  return (
    new RegExp(`<!-- ${marker} -->\\n?([\\s\\S]*?)\\n?<!-- end -->`).exec(page)?.[1]?.trim() ?? ''
  );
}

test.each([
  ['block columns', renderBlockColumns, 15],
  ['columns', renderColumns, 68],
])('behavior: the table of %s equals that of the code', (marker, render, columnCountMin) => {
  const wanted = render();
  expect(wanted.match(/^\| `/gm)?.length).toBeGreaterThanOrEqual(columnCountMin);
  expect(shown(marker)).toBe(wanted);
});

test('behavior: the page has the domains, codings and kinds of parts of the code', () => {
  expect(shown('domains')).toBe(DOMAINS.map((name) => `\`${name}\``).join(', '));
  for (const [name, number] of Object.entries(CODING))
    expect(page).toMatch(new RegExp(`^\\| ${name} \\| ${number} \\|`, 'm'));
  for (const kind of Object.values(PART))
    expect(page).toMatch(new RegExp(`^\\| ${kind} \\| [^|]+ \\| [a-z]`, 'm'));
});

test('behavior: the page has the limits of the code', () => {
  const numbers = [
    ...Object.values(SEGMENT_LIMITS),
    GROUP_LIMITS.transactionCountMax,
    GROUP_LIMITS.instructionCountMax,
    GROUP_LIMITS.blockCountMax,
    pageKeyCount,
    chunkBytes,
    busiestAccountsMax,
  ];
  for (const number of numbers) expect(page).toContain(number.toLocaleString('en-US'));
  expect(sentences).toContain(`This page describes version ${formatVersion} of the format`);
  const { small, large } = pageTransactions;
  expect(sentences).toContain(
    `a few transactions: ${small} in a segment of several row groups, ${large} in one of a single row group`,
  );
  expect(page).toMatch(new RegExp(`^ │ header .* ${headerBytes} bytes$`, 'm'));
  expect(page).toMatch(new RegExp(`^ │ footer .* ${footerBytes} bytes$`, 'm'));
});
