import { toSlot } from '@sluice/ledger/primitives';
import type { Source } from '@sluice/source/source';
import { expect, test } from 'vitest';
import { ref } from '../../chain/testing/chain-fixtures.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { makeFakeSource, makeHeaders, ok, refuse } from '../testing/fake-source.ts';
import { chooseStart, type StartPoint } from './choose-start.ts';

const { signal } = new AbortController();
const clock = new ManualClock();
const headers = makeHeaders('a', [0, 1, 4, 6, 9]);

function choose(start: StartPoint, { from = 0, remote = {} as Partial<Source> } = {}) {
  const source = makeFakeSource({
    clock,
    headers: headers.filter(({ number }) => number >= from),
    remote,
  });
  return chooseStart(start, source, signal);
}

const at = (slot: number): StartPoint => ({ kind: 'slot', slot: toSlot(slot) });
const above = (name: string) => ({
  kind: 'chosen',
  anchor: ref(name),
  first: headers.find(({ parentHash }) => parentHash === ref(name).hash),
});

test('default: the anchor is the parent of the first block at or after the start', async () => {
  expect(await choose({ kind: 'genesis' })).toEqual({ kind: 'chosen', anchor: null, first: null });
  expect(await choose({ kind: 'latest' })).toEqual(above('a6'));
  expect(await choose({ kind: 'earliest' }, { from: 4 })).toEqual(above('a1'));
  expect(await choose(at(6))).toEqual(above('a4'));
  expect(await choose(at(5))).toEqual(above('a4'));
  expect(await choose(at(9))).toEqual(above('a6'));
  expect(await choose(at(0))).toEqual({ kind: 'chosen', anchor: null, first: null });
});

test('error: a start that the source no longer has', async () => {
  expect(await choose({ kind: 'genesis' }, { from: 4 })).toEqual({
    kind: 'pruned',
    firstAvailable: 4,
  });
  expect(await choose(at(3), { from: 4 })).toEqual({ kind: 'pruned', firstAvailable: 4 });
  expect(await choose(at(4), { from: 4 })).toEqual(above('a1'));
});

test('error: a start that the ledger has not reached', async () => {
  expect(await choose(at(10))).toEqual({ kind: 'ahead', finalized: 9 });
});

test('behavior: only finalized blocks count, in a range that nodes allow', async () => {
  const requested: unknown[] = [];
  const remote: Partial<Source> = {
    slot: async (commitment) => {
      requested.push(commitment);
      return ok(toSlot(2_000_000));
    },
    listSlots: async (range, commitment) => {
      requested.push(range, commitment);
      return ok([toSlot(6)]);
    },
    header: async (slot, commitment) => {
      requested.push(slot, commitment);
      return ok(makeHeaders('a', [6])[0] as (typeof headers)[number]);
    },
  };
  await choose(at(5), { remote });
  expect(requested).toEqual([
    'finalized',
    { first: 5, last: 500_004 },
    'finalized',
    6,
    'finalized',
  ]);
});

test('behavior: also the genesis is chosen only when the source answers', async () => {
  for (const remote of [
    { slot: () => refuse('outage') },
    { firstAvailable: () => refuse('outage') },
  ])
    expect(await choose({ kind: 'genesis' }, { remote })).toEqual({ kind: 'later' });
});

test.each<[string, Partial<Source>]>([
  ['the finalized slot', { slot: () => refuse('outage') }],
  ['the first slot', { firstAvailable: () => refuse('outage') }],
  ['the list', { listSlots: () => refuse('outage') }],
  ['a block in the list', { listSlots: async () => ok([]) }],
  ['the header', { header: () => refuse('outage') }],
])('behavior: the choice is made later without %s', async (_, remote) => {
  expect(await choose(at(5), { remote })).toEqual({ kind: 'later' });
});
