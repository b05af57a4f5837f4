import type { BlockHeader } from '@sluice/ledger/block';
import { expect, test } from 'vitest';
import { hash, ref } from '../../chain/testing/chain-fixtures.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { makeFakeSource, makeHeaders, makeSnapshot, ok, refuse } from '../testing/fake-source.ts';
import { traceBranch } from './trace-branch.ts';

const { signal } = new AbortController();
const clock = new ManualClock();
const own = makeHeaders('a', [10, 11, 12, 13]);
const snapshot = makeSnapshot(own, own[1]);
const tipOf = (headers: readonly BlockHeader[]) => headers.at(-1) as BlockHeader;

function trace(headers: readonly BlockHeader[], remote = {}) {
  const source = makeFakeSource({ clock, headers, remote });
  return traceBranch(source, tipOf(headers), snapshot, signal);
}

test('default: a branch is traced to the block of ours that it leaves', async () => {
  const branch = makeHeaders('b', [13, 14, 16], own[2]);
  expect(await trace([...own.slice(0, 3), ...branch])).toEqual({
    kind: 'linked',
    ancestor: ref('a12'),
    headers: branch,
  });
  const child = makeHeaders('a', [14], own[3]);
  expect(await trace([...own, ...child])).toMatchObject({ ancestor: ref('a13'), headers: child });
  expect(await trace(own)).toEqual({ kind: 'known' });
});

test('behavior: a long branch is read in several rounds, and each block once', async () => {
  const slots = Array.from({ length: 100 }, (_, i) => 14 + 2 * i);
  const branch = makeHeaders('b', slots, own[3]);
  const source = makeFakeSource({ clock, headers: [...own, ...branch] });
  const requestedSlots: number[] = [];
  const { header, listSlots } = source.remote;
  const ranges: number[][] = [];
  Object.assign(source.remote, {
    header: (...given: Parameters<typeof header>) => {
      requestedSlots.push(given[0]);
      return header(...given);
    },
    listSlots: (...given: Parameters<typeof listSlots>) => {
      ranges.push([given[0].first, given[0].last]);
      expect(given[1]).toBe('confirmed');
      return listSlots(...given);
    },
  });
  const found = await traceBranch(source, tipOf(branch), snapshot, signal);
  expect(found).toMatchObject({ kind: 'linked', ancestor: ref('a13'), headers: branch });
  expect(ranges[0]).toEqual([146, 210]);
  expect(ranges.at(-1)?.[0]).toBe(11);
  expect(requestedSlots.length).toBe(new Set(requestedSlots).size);
});

test('error: a branch that leaves the chain below the finalized head', async () => {
  const branch = makeHeaders('b', [11, 12, 14], own[0]);
  expect(await trace([...own.slice(0, 1), ...branch])).toEqual({
    kind: 'below-finality',
    slot: 12,
  });
});

test('error: another block at the slot of a parent, or a parent without a hash', async () => {
  const branch = makeHeaders('b', [13, 14], own[2]);
  const other = makeHeaders('c', [13], own[2]);
  expect(await trace([...own.slice(0, 3), ...other, ...branch.slice(1)])).toEqual({
    kind: 'unlinked',
    slot: 14,
  });
  const orphan = { ...tipOf(branch), parentHash: null };
  expect(await trace([...own.slice(0, 3), orphan])).toEqual({ kind: 'unlinked', slot: 14 });
});

test.each([
  ['skipped-hint', { kind: 'hole', slot: 13 }],
  ['not-available', { kind: 'hole', slot: 13 }],
  ['pruned', { kind: 'hole', slot: 13 }],
  ['outage', { kind: 'failed', refusal: { kind: 'refused', reason: 'outage', cause: 'outage' } }],
] as const)('error: the parent gets %s', async (reason, expected) => {
  const branch = makeHeaders('b', [13, 14], own[2]);
  const headers = [...own.slice(0, 3), ...branch];
  const header = async (slot: number) => {
    if (slot === 13) return refuse(reason);
    return ok(headers.find(({ number }) => number === slot));
  };
  expect(await trace(headers, { header })).toEqual(expected);
});

test('behavior: the parent is requested even if the list omits it; a refused list ends the trace', async () => {
  const branch = makeHeaders('b', [13, 14], own[2]);
  const headers = [...own.slice(0, 3), ...branch];
  const listSlots = async () => ok([]);
  expect(await trace(headers, { listSlots })).toMatchObject({ ancestor: ref('a12') });
  expect(await trace(headers, { listSlots: () => refuse('behind') })).toMatchObject({
    kind: 'failed',
    refusal: { reason: 'behind' },
  });
});

test('limit: a branch of more than 4,096 blocks is too long', async () => {
  const start = makeHeaders('b', [20], { ...(own[3] as BlockHeader), hash: hash('x13') });
  const headers = makeHeaders(
    'b',
    Array.from({ length: 4_200 }, (_, i) => 21 + i),
    tipOf(start),
  );
  const byNumber = new Map(headers.map((header) => [header.number as number, header]));
  const header = async (slot: number) => ok(byNumber.get(slot));
  expect(await trace(headers, { header })).toEqual({ kind: 'too-long' });
});
