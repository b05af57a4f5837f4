import { describe, expect, test } from 'vitest';
import { applyChanges } from '../chain/apply-changes.ts';
import { type ChainSnapshot, emptySnapshot } from '../chain/chain-snapshot.ts';
import { hash, makeRun, noLists, ref, slot } from '../chain/testing/chain-fixtures.ts';
import { decideStart, type StreamRange } from './decide-start.ts';

const anchor = { number: slot(9), hash: hash('a9') };
const below = { number: 9, hash: 'a9', height: 100 };
const created = applyChanges(emptySnapshot, [{ kind: 'create', anchor }]);
/** Blocks a10 to a14, a11 finalized; b13 and b14 were replaced. */
const snapshot = applyChanges(created, [
  { kind: 'extend', blocks: makeRun('a', [10, 11, 12], below) },
  { kind: 'extend', blocks: makeRun('b', [13, 14], { ...ref('a12'), height: 103 }) },
  {
    kind: 'replace',
    ancestor: ref('a12'),
    blocks: makeRun('a', [13, 14], { ...ref('a12'), height: 103 }),
  },
  { kind: 'finalize', block: ref('a11') },
]);

function decide(range: Partial<StreamRange>, chain: ChainSnapshot = snapshot) {
  const whole = { fromBlock: 10, toBlock: undefined, parentBlockHash: undefined };
  const files = { readHeaders: async () => [], readList: noLists };
  return decideStart(chain, { ...whole, finalizedOnly: false, ...range }, files);
}

const conflict = { kind: 'conflict', previousBlocks: expect.anything() };

test('default: a range from a stored slot is scanned; above the head it must wait', async () => {
  expect(await decide({ fromBlock: 14 })).toEqual({ kind: 'scan' });
  expect(await decide({ fromBlock: 15 })).toEqual({ kind: 'above-data' });
  expect(await decide({ fromBlock: 11, finalizedOnly: true })).toEqual({ kind: 'scan' });
  expect(await decide({ fromBlock: 12, finalizedOnly: true })).toEqual({ kind: 'above-data' });
});

test('behavior: a range below the start is rejected, and without a start the dataset is starting', async () => {
  expect(await decide({ fromBlock: 9 })).toEqual({ kind: 'below-start', startBlock: 10 });
  expect(await decide({ fromBlock: 9 }, emptySnapshot)).toEqual({ kind: 'starting' });
});

test('behavior: without a block the parent can only be the anchor', async () => {
  const above = { kind: 'above-data' };
  expect(await decide({}, created)).toEqual(above);
  expect(await decide({ parentBlockHash: hash('a9') }, created)).toEqual(above);
  expect(await decide({ parentBlockHash: hash('b9') }, created)).toEqual(conflict);
  expect(await decide({ fromBlock: 11, parentBlockHash: hash('b9') }, created)).toEqual(above);
});

describe('the parent of a range', () => {
  test('default: the right hash is accepted, another one gives the blocks below', async () => {
    expect(await decide({ fromBlock: 12, parentBlockHash: hash('a11') })).toEqual({ kind: 'scan' });
    expect(await decide({ fromBlock: 12, parentBlockHash: 'x' })).toEqual({
      kind: 'conflict',
      previousBlocks: ['a9', 'a10', 'a11'].map(ref),
    });
    expect(await decide({ fromBlock: 15, parentBlockHash: hash('a14') })).toEqual({
      kind: 'above-data',
    });
    expect(await decide({ fromBlock: 15, parentBlockHash: 'x' })).toEqual(conflict);
  });

  test('behavior: further above the head only a replaced block is certainly wrong', async () => {
    const above = { kind: 'above-data' };
    expect(await decide({ fromBlock: 20, parentBlockHash: hash('a14') })).toEqual(above);
    expect(await decide({ fromBlock: 20, parentBlockHash: hash('c19') })).toEqual(above);
    expect(await decide({ fromBlock: 20, parentBlockHash: hash('b14') })).toEqual(conflict);
  });

  test('behavior: on the finalized stream a replaced block is wrong only once its slot is final', async () => {
    const range = { fromBlock: 20, parentBlockHash: hash('b13'), finalizedOnly: true };
    expect(await decide(range)).toEqual({ kind: 'above-data' });
    const final = applyChanges(snapshot, [{ kind: 'finalize', block: ref('a13') }]);
    expect(await decide(range, final)).toEqual(conflict);
    const later = { ...range, parentBlockHash: hash('b14') };
    expect(await decide(later, final)).toEqual({ kind: 'above-data' });
    expect(await decide(range, { ...snapshot, finalized: null })).toEqual({ kind: 'above-data' });
  });
});
