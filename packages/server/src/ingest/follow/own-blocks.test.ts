import { toSlot } from '@sluice/ledger/primitives';
import { expect, test } from 'vitest';
import { applyChanges } from '../../chain/apply-changes.ts';
import { emptySnapshot } from '../../chain/chain-snapshot.ts';
import { hash, ref, sealRun } from '../../chain/testing/chain-fixtures.ts';
import { makeHeaders, makeSnapshot } from '../testing/fake-source.ts';
import { forkFloor, headSlot, newestUnfinalized, ownsBlock } from './own-blocks.ts';

const headers = makeHeaders('a', [10, 11, 12, 14]);
const snapshot = makeSnapshot(headers, headers[2]);
const sealed = applyChanges(snapshot, [
  { kind: 'seal', segments: [sealRun(snapshot.hot.slice(0, 2))] },
]);

test('default: hot blocks, the finalized head, the last sealed block and the anchor are ours', () => {
  for (const slot of [10, 11, 12, 14]) {
    expect([slot, ownsBlock(snapshot, slot, hash(`a${slot}`))]).toEqual([slot, true]);
  }
  expect(ownsBlock(sealed, 12, hash('a12'))).toBe(true);
  expect(ownsBlock(sealed, 10, hash('a10'))).toBe(true);
  expect(ownsBlock({ ...sealed, finalized: null }, 12, hash('a12'))).toBe(true);
  // Blocks within a segment are not looked up.
  expect(ownsBlock(sealed, 11, hash('a11'))).toBe(false);
});

test('behavior: another hash, another slot or no hash is not ours', () => {
  expect(ownsBlock(snapshot, 12, hash('b12'))).toBe(false);
  expect(ownsBlock(snapshot, 13, hash('a12'))).toBe(false);
  expect(ownsBlock(snapshot, 12, null)).toBe(false);
  const unknown = { ...emptySnapshot, anchor: { number: toSlot(9), hash: null } };
  expect(ownsBlock(unknown, 9, null)).toBe(false);
  expect(ownsBlock(emptySnapshot, 0, hash('a0'))).toBe(false);
});

test('behavior: a branch may leave the chain at the finalized head, or else at the anchor', () => {
  expect(forkFloor(snapshot)).toBe(12);
  expect(forkFloor(makeSnapshot(headers))).toBe(10);
  expect(forkFloor(emptySnapshot)).toBe(-1);
});

test('behavior: the newest block up to a slot can be finalized if it is above the finalized head', () => {
  expect(newestUnfinalized(snapshot, 14)).toEqual(ref('a14'));
  expect(newestUnfinalized(snapshot, 99)).toEqual(ref('a14'));
  expect(newestUnfinalized(snapshot, 13)).toBe(undefined);
  const open = makeSnapshot(headers);
  expect(newestUnfinalized(open, 13)).toEqual(ref('a12'));
  expect(newestUnfinalized(open, 11)).toEqual(ref('a11'));
  expect(newestUnfinalized(open, 10)).toBe(undefined);
  expect(newestUnfinalized(emptySnapshot, 10)).toBe(undefined);
  expect(newestUnfinalized(makeSnapshot(makeHeaders('a', [0, 1])), 1)).toEqual(ref('a1'));
});

test('behavior: without a block the head is the slot below the start', () => {
  expect(headSlot(snapshot)).toBe(14);
  expect(headSlot(makeSnapshot(headers.slice(0, 1)))).toBe(10);
  expect(headSlot(emptySnapshot)).toBe(-1);
});
