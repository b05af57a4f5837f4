import { isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { expect, test } from 'vitest';
import { emptySnapshot } from './chain-snapshot.ts';
import { checkLink, headLinkPoint, type ParentPoint } from './link-block.ts';
import { hash, makeHeader, slot } from './testing/chain-fixtures.ts';

function rejection(parent: ParentPoint, header: BlockHeader): unknown {
  try {
    checkLink(parent, header);
  } catch (error) {
    if (isCodedError(error)) return { code: error.code, ...error.detail };
    throw error;
  }
  return 'accepted';
}

const genesis = makeHeader('a', 0, null);

test.each([
  ['another slot', { number: slot(1) }],
  ['a parent slot', { parentSlot: slot(1) }],
  ['a parent hash', { parentHash: hash('x') }],
])('error: chain-not-linked for a first block with %s', (_name, changed) => {
  const header = { ...genesis, ...changed };
  expect(rejection(null, genesis)).toBe('accepted');
  expect(rejection(null, header)).toEqual({
    code: 'chain-not-linked',
    slot: header.number,
    parentSlot: header.parentSlot,
    expectedParentSlot: 'none: the ledger begins at slot 0',
  });
});

test.each([[1], [null]])('error: chain-height-wrong for a first block of height %s', (height) => {
  expect(rejection(null, { ...genesis, height })).toEqual({
    code: 'chain-height-wrong',
    slot: 0,
    height,
    expectedHeight: 0,
  });
});

test('behavior: any height is accepted above a block whose height is unknown', () => {
  const parent = { number: slot(9), hash: hash('a9'), height: null };
  expect(rejection(parent, { ...makeHeader('a', 10, parent), height: 55 })).toBe('accepted');
});

test('behavior: the first block of a new chain links to the anchor, whose height is unknown', () => {
  const anchor = { number: slot(9), hash: hash('a9') };
  expect(headLinkPoint({ ...emptySnapshot, anchor })).toEqual({ ...anchor, height: null });
  expect(headLinkPoint(emptySnapshot)).toBeNull();
});
