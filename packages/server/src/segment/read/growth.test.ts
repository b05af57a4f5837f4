/** Readers skip columns, sections and parts of a later version. Columns that an earlier version lacks read as 0. */

import { isCodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import { expect, test } from 'vitest';
import { CODING, COLUMNS, type ColumnName, DOMAINS, SECTIONS } from '../layout/columns.ts';
import type { StoredColumn, StoredSection } from '../layout/directory.ts';
import { SECTION_LAYOUT } from '../layout/section-layout.ts';
import { decodeBlocks } from '../testing/decode-blocks.ts';
import { rewriteSegment } from '../testing/rewrite-segment.ts';
import { sampleBlock } from '../testing/sample-block.ts';
import { buildSegment } from '../write/build-segment.ts';
import { mergeSegments } from '../write/merge-segments.ts';
import { measureSegment } from './measure-segment.ts';
import { openSegment, verifySegment } from './open-segment.ts';

const blocks = Array.from({ length: 40 }, (_, slot) => sampleBlock(slot));
const bytes = buildSegment(blocks);
const layout = SECTION_LAYOUT.map((section) => ({ ...section, isPacked: false }));
const domain = (name: (typeof DOMAINS)[number]) => DOMAINS.indexOf(name);

/** A column that this version does not know. */
const unknown = (of: (typeof DOMAINS)[number], coding: number, unit = 0): StoredColumn => ({
  id: 900 + coding,
  coding,
  domain: domain(of),
  adds: 0,
  unit,
});

function without(names: readonly ColumnName[]): StoredSection[] {
  const ids = names.map((name) => COLUMNS[name].id as number);
  return layout.map(({ isPacked, columns }) => ({
    isPacked,
    columns: columns.filter(({ id }) => !ids.includes(id)),
  }));
}

test('behavior: pages of any size, written by plain code, are read', () => {
  for (const pageTransactions of [1, 3, 64])
    expect(decodeBlocks(openSegment(rewriteSegment(bytes, { layout, pageTransactions })))).toEqual(
      blocks,
    );
});

test('behavior: unknown columns are skipped at any position in a section and in any coding', () => {
  const added: Readonly<Record<string, StoredColumn[]>> = {
    transactions: [unknown('transaction', CODING.long), unknown('lookup', CODING.int)],
    keys: [unknown('transaction', CODING.delta)],
    instructions: [unknown('instruction', CODING.int), unknown('account', CODING.bytes, 2)],
    logs: [unknown('log', CODING.bytes, 5)],
    rewards: [unknown('reward', CODING.long)],
  };
  const grown = layout.map(({ isPacked, columns }, section) => {
    const own = added[SECTIONS[section] as string] ?? [];
    const [first, ...more] = own;
    const front = first === undefined || first.domain !== domain('transaction') ? [] : [first];
    const back = front.length === 0 ? own : more;
    return { isPacked, columns: [...front, ...columns, ...back] };
  });
  const unknownValue = (row: number) => (row * 37) % 251;
  const segment = openSegment(rewriteSegment(bytes, { layout: grown, unknownValue }));
  expect(segment.directory.sections.flatMap(({ columns }) => columns).length).toBe(
    Object.keys(COLUMNS).length + 7,
  );
  expect(decodeBlocks(segment)).toEqual(blocks);
  expect(verifySegment(segment)).toEqual([]);
  // Merging keeps the known columns.
  expect(Buffer.compare(mergeSegments([segment]), bytes)).toBe(0);
});

test('behavior: an unknown section is skipped, regardless of its content', () => {
  const columns = [unknown('transaction', CODING.int), unknown('key', 77)];
  const grown = [...layout, { isPacked: true, columns }, { isPacked: false, columns: [] }];
  const unknownPage = Uint8Array.from({ length: 100 }, (_, i) => i);
  const segment = openSegment(rewriteSegment(bytes, { layout: grown, unknownPage }));
  expect(decodeBlocks(segment)).toEqual(blocks);
  expect(verifySegment(segment)).toEqual([]);
  const measured = measureSegment(segment);
  expect(measured.find(({ name }) => name === 'section 10')?.storedBytes).toBe(100);
  expect(measured.reduce((sum, { storedBytes }) => sum + storedBytes, 0)).toBe(
    segment.bytes.length,
  );
});

test('behavior: an unknown part is skipped, and verified like the others', () => {
  const extraParts = [{ kind: 77, number: 3, bytes: Uint8Array.of(1, 2, 3, 4, 5) }];
  const grown = rewriteSegment(bytes, { layout, extraParts });
  const segment = openSegment(grown);
  expect(decodeBlocks(segment)).toEqual(blocks);
  expect(verifySegment(segment)).toEqual([]);
  const { offset } = segment.partEntry(77, 3);
  grown[offset] = (grown[offset] as number) ^ 1;
  expect(verifySegment(openSegment(grown)).map(({ detail }) => detail)).toEqual([
    expect.objectContaining({ unit: 'part 77 3' }),
  ]);
});

test('behavior: columns that a segment lacks are 0 in every row', () => {
  const names = ['txFee', 'txFeeNull', 'insUnits', 'insUnitsNull', 'logKind', 'balPre'] as const;
  const segment = openSegment(rewriteSegment(bytes, { layout: without(names) }));
  const expected = blocks.map(
    (block): Block => ({
      ...block,
      transactions: block.transactions.map((own) => ({ ...own, fee: 0n })),
      instructions: block.instructions.map((own) => ({ ...own, computeUnitsConsumed: 0n })),
      logs: block.logs.map((own) => ({ ...own, kind: 'log' })),
      balances: block.balances.map(({ pre, post, ...own }) => ({
        ...own,
        pre: 0n,
        post: BigInt.asUintN(64, post - pre),
      })),
    }),
  );
  expect(decodeBlocks(segment)).toEqual(expected);
});

test('error: segment-damaged if a column has an unknown kind of rows, because it cannot be skipped', () => {
  const columns = [{ ...unknown('transaction', CODING.int), domain: DOMAINS.length }];
  const [first, ...others] = layout as [StoredSection, ...StoredSection[]];
  for (const section of [
    { isPacked: false, columns: [...first.columns, ...columns] },
    { isPacked: false, columns: [...first.columns, { ...unknown('key', 0), adds: 99 }] },
  ]) {
    const grown = rewriteSegment(bytes, { layout: [section, ...others] });
    try {
      openSegment(grown);
      expect.fail('it was opened');
    } catch (error) {
      expect(isCodedError(error, 'segment-damaged')).toBe(true);
    }
  }
});
