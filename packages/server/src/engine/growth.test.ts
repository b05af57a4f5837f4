/** Queries on segments of a later or an earlier version, with other columns. */

import type { Block } from '@sluice/ledger/block';
import { expect, test } from 'vitest';
import { CODING, COLUMNS, type ColumnName, DOMAINS, SECTIONS } from '../segment/layout/columns.ts';
import { SECTION_LAYOUT } from '../segment/layout/section-layout.ts';
import { rewriteSegment } from '../segment/testing/rewrite-segment.ts';
import { sampleBlock } from '../segment/testing/sample-block.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { Engine } from './engine.ts';
import { answerSegments } from './testing/answer-segments.ts';
import { parseTestQuery } from './testing/arbitrary-query.ts';
import { answerQuery } from './testing/reference/answer-query.ts';

const blocks = Array.from({ length: 40 }, (_, slot) => sampleBlock(slot));
const bytes = buildSegment(blocks);
const layout = SECTION_LAYOUT.map((section) => ({ ...section, isPacked: false }));
const everything = parseTestQuery({
  fromBlock: 0,
  transactions: [{ instructions: true, balances: true, tokenBalances: true, logs: true }],
  rewards: [{}],
});

function answer(content: Uint8Array): string {
  const engine = new Engine({ cacheBytesMax: 1 << 24 });
  engine.open('only', content);
  return Buffer.concat([...answerSegments(engine, ['only'], everything)]).toString();
}

test('behavior: unknown columns, sections and parts are skipped', () => {
  const grown = layout.map(({ isPacked, columns }, section) => {
    const domain = DOMAINS.indexOf(section < SECTIONS.indexOf('rewards') ? 'transaction' : 'text');
    const added = { id: 900, coding: CODING.int, domain, adds: 0, unit: 0 };
    return { isPacked, columns: [...columns, added] };
  });
  const later = [...grown, { isPacked: true, columns: [] }];
  const content = rewriteSegment(bytes, {
    layout: later,
    pageTransactions: 3,
    unknownPage: Uint8Array.of(9, 9, 9),
    unknownValue: (row) => row,
    extraParts: [{ kind: 77, number: 0, bytes: Uint8Array.of(1) }],
  });
  expect(answer(content) === answerQuery(everything, blocks)).toBe(true);
});

function without(names: readonly ColumnName[]) {
  const ids = names.map((name) => COLUMNS[name].id as number);
  return layout.map(({ isPacked, columns }) => ({
    isPacked,
    columns: columns.filter(({ id }) => !ids.includes(id)),
  }));
}

test('behavior: columns that a segment lacks are 0 in every row', () => {
  const names = ['txUnits', 'txUnitsNull', 'insFlags', 'rewPostBalance'] as const;
  const content = rewriteSegment(bytes, { layout: without(names), pageTransactions: 4 });
  const expected = blocks.map(
    (block): Block => ({
      ...block,
      transactions: block.transactions.map((own) => ({ ...own, computeUnitsConsumed: 0n })),
      instructions: block.instructions.map((own) => ({
        ...own,
        isCommitted: false,
        hasDroppedLogMessages: false,
      })),
      rewards: block.rewards.map((own) => ({ ...own, postBalance: 0n })),
    }),
  );
  expect(answer(content) === answerQuery(everything, expected)).toBe(true);
});
