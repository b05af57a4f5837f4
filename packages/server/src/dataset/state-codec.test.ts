import { describe, expect, test } from 'vitest';
import { applyChanges } from '../chain/apply-changes.ts';
import type { ChainChange } from '../chain/chain-change.ts';
import { type ChainSnapshot, emptySnapshot } from '../chain/chain-snapshot.ts';
import { hash, makeRun, ref, sealRun, slot } from '../chain/testing/chain-fixtures.ts';
import { buildList } from './list-files.ts';
import {
  decodeCheckpoint,
  decodeCommits,
  decodeList,
  encodeCheckpoint,
  encodeCommits,
  encodeList,
} from './state-codec.ts';

const anchor = { number: slot(9), hash: hash('a9') };
const run = makeRun('a', [10, 11, 12, 13], { number: 9, hash: 'a9', height: 4 });
const [first, second] = [sealRun(run.slice(0, 1)), sealRun(run.slice(1, 2))];
const snapshot = applyChanges(emptySnapshot, [
  { kind: 'create', anchor },
  { kind: 'extend', blocks: [...run, ...makeRun('b', [14], { ...ref('a13'), height: 8 })] },
  {
    kind: 'replace',
    ancestor: ref('a13'),
    blocks: makeRun('a', [15], { ...ref('a13'), height: 8 }),
  },
  { kind: 'finalize', block: ref('a11') },
  { kind: 'seal', segments: [first, second] },
]);

const changed = (changes: Partial<ChainSnapshot>) => () =>
  decodeCheckpoint(JSON.parse(encodeCheckpoint({ ...snapshot, ...changes })));

test('default: a checkpoint is decoded to the same snapshot, with 64-bit times', () => {
  expect(changed({})()).toEqual(snapshot);
  const timeless = { ...first, timestampMax: null };
  const content = { kind: 'segments', segments: [timeless, second] } as const;
  expect(decodeList(JSON.parse(encodeList(content)))).toEqual(content);
});

test('default: every kind of change is decoded to the same change', () => {
  const segments = [first];
  const { list } = buildList({ kind: 'segments', depth: 0, segments });
  const commit: ChainChange[] = [
    { kind: 'create', anchor },
    { kind: 'extend', blocks: run },
    { kind: 'replace', ancestor: ref('a10'), blocks: run },
    { kind: 'finalize', block: ref('a11') },
    { kind: 'append-sealed', segments },
    { kind: 'prepend', segments },
    { kind: 'seal', segments },
    { kind: 'trim', keepFrom: slot(3) },
    { kind: 'merge', segment: first },
    { kind: 'list', list },
    { kind: 'unlist', content: { kind: 'segments', segments } },
    { kind: 'unlist', content: { kind: 'lists', lists: [list] } },
    { kind: 'announce', files: ['segments/one'] },
    { kind: 'forget', files: ['segments/one'] },
    { kind: 'rewrite', segments, blocks: run },
  ];
  expect(decodeCommits(JSON.parse(encodeCommits([commit, []])))).toEqual([commit, []]);
});

describe('a checkpoint that was written wrongly is rejected', () => {
  const linked = 'stored segments are linked';
  test.each([
    ['another parent slot', { ...second, parentSlot: slot(9) }],
    ['another parent hash', { ...second, parentHash: hash('b10') }],
    ['a last block below the first', { ...second, last: ref('a10') }],
  ])('behavior: a segment with %s', (_name, broken) => {
    expect(changed({ segments: [first, broken] })).toThrow(linked);
  });

  test('behavior: a first segment that does not link to the anchor; without an anchor nothing is compared', () => {
    const lone = { ...anchor, hash: hash('b9') };
    expect(changed({ anchor: lone })).toThrow(linked);
    expect(changed({ anchor: null })).not.toThrow();
  });

  test('behavior: hot blocks that do not link to the last segment', () => {
    expect(changed({ segments: [first] })).toThrow(
      expect.objectContaining({ code: 'chain-not-linked' }),
    );
  });

  test('behavior: a head that is not the last block, or a finalized head above it', () => {
    expect(changed({ head: ref('b15') })).toThrow('the stored head is');
    expect(changed({ finalized: ref('a16') })).toThrow('not above the head');
    expect(changed({ finalized: ref('a15') })).not.toThrow();
    expect(changed({ finalized: null })).not.toThrow();
    const empty = { segments: [], hot: [], anchor: null };
    expect(changed({ ...empty, finalized: null })).toThrow('the stored head is');
    expect(changed({ ...empty, head: null })).toThrow('not above the head');
    expect(changed({ ...empty, head: null, finalized: null })).not.toThrow();
  });
});
