import type { BlockHeader } from '@sluice/ledger/block';
import { describe, expect, test } from 'vitest';
import { applyChanges } from './apply-changes.ts';
import { type ChainSnapshot, emptySnapshot, type SealedSegment } from './chain-snapshot.ts';
import {
  findBlockAtOrAfter,
  findBlockAtTime,
  findHot,
  findPreviousBlocks,
  findReplacedSlot,
  firstHotAtOrAfter,
  isStillOnChain,
} from './find-blocks.ts';
import { hash, makeRun, nameOf, noLists, ref, sealRun, slot } from './testing/chain-fixtures.ts';

const anchor = { number: slot(9), hash: hash('a9') };
const below = { number: 9, hash: 'a9', height: 100 };
const run = makeRun('a', [10, 12, 14, 16, 18, 20], below);
const headers = run.map(({ header }) => header);

/** The segments a10 to a12 and a14, and the hot blocks a16, a18 and a20. */
function stored(): ChainSnapshot {
  return applyChanges(emptySnapshot, [
    { kind: 'create', anchor },
    { kind: 'extend', blocks: run },
    { kind: 'finalize', block: ref('a16') },
    { kind: 'seal', segments: [sealRun(run.slice(0, 2)), sealRun(run.slice(2, 3))] },
  ]);
}

/** Reads headers as from a file, and counts the segments that were read. */
function reader(all: readonly BlockHeader[] = headers) {
  const read: string[] = [];
  const readHeaders = async ({ first, last }: SealedSegment) => {
    read.push(nameOf(first.hash));
    return all.filter(({ number }) => number >= first.number && number <= last.number);
  };
  return { read, files: { readHeaders, readList: noLists } };
}

test.each([
  [9, 'a10'],
  [10, 'a10'],
  [11, 'a12'],
  [12, 'a12'],
  [13, 'a14'],
  [14, 'a14'],
  [15, 'a16'],
  [16, 'a16'],
  [17, 'a18'],
  [20, 'a20'],
  [21, undefined],
])('default: the first block at or after slot %i is %s', async (asked, expected) => {
  const found = await findBlockAtOrAfter(stored(), asked, reader().files);
  expect(found && nameOf(found.hash)).toBe(expected);
});

test.each([
  [9, []],
  [10, ['a9']],
  [11, ['a9', 'a10']],
  [14, ['a9', 'a10', 'a12']],
  [17, ['a9', 'a10', 'a12', 'a14', 'a16']],
  [99, ['a9', 'a10', 'a12', 'a14', 'a16', 'a18', 'a20']],
])('default: the blocks below slot %i are %j', async (asked, expected) => {
  const found = await findPreviousBlocks(stored(), asked, reader().files);
  expect(found).toEqual(expected.map(ref));
});

test('behavior: an anchor without a hash is no previous block', async () => {
  const snapshot = { ...stored(), anchor: { ...anchor, hash: null } };
  expect(await findPreviousBlocks(snapshot, 11, reader().files)).toEqual([ref('a10')]);
  const fromZero = { ...stored(), anchor: null };
  expect(await findPreviousBlocks(fromZero, 11, reader().files)).toEqual([ref('a10')]);
});

describe('at most 100 previous blocks', () => {
  const slots = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => first + i);
  const makeChain = (count: number, sealedCounts: readonly number[]) => {
    const blocks = makeRun('a', slots(10, count), below);
    const segments: SealedSegment[] = [];
    let at = 0;
    for (const size of sealedCounts) {
      segments.push(sealRun(blocks.slice(at, at + size)));
      at += size;
    }
    const last = ref(`a${10 + at}`);
    const snapshot = applyChanges(emptySnapshot, [
      { kind: 'create', anchor },
      { kind: 'extend', blocks },
      { kind: 'finalize', block: last },
      { kind: 'seal', segments },
    ]);
    return { snapshot, ...reader(blocks.map(({ header }) => header)) };
  };

  test('limit: hot blocks alone fill the answer, and no segment is read', async () => {
    const { snapshot, read, files } = makeChain(120, [5]);
    const found = await findPreviousBlocks(snapshot, 130, files);
    expect(found).toEqual(slots(30, 100).map((number) => ref(`a${number}`)));
    expect(read).toEqual([]);
  });

  test('limit: a segment gives only as many as are missing, and the next one is not read', async () => {
    const { snapshot, read, files } = makeChain(120, [5, 60]);
    const found = await findPreviousBlocks(snapshot, 130, files);
    expect(found).toEqual(slots(30, 100).map((number) => ref(`a${number}`)));
    expect(read).toEqual(['a15']);
  });

  test('limit: the anchor is added only if it is among the last 100', async () => {
    const exactly = makeChain(100, [40]);
    const hundred = await findPreviousBlocks(exactly.snapshot, 110, exactly.files);
    expect(hundred[0]).toEqual(ref('a10'));
    const fewer = await findPreviousBlocks(exactly.snapshot, 109, exactly.files);
    expect(fewer[0]).toEqual(ref('a9'));
    expect(fewer).toHaveLength(100);
  });
});

describe('by time', () => {
  const at = (number: number) => BigInt(1_600_000_000 + number);

  test('default: the first block at or after the time, in segments and hot blocks', async () => {
    const { read, files } = reader();
    const find = async (time: bigint) => {
      const found = await findBlockAtTime(stored(), time, files);
      return found && nameOf(found.hash);
    };
    expect(await find(at(13))).toBe('a14');
    expect(read).toEqual(['a14']);
    expect(await find(at(12))).toBe('a12');
    expect(await find(at(1))).toBe('a10');
    expect(await find(at(17))).toBe('a18');
    expect(await find(at(18))).toBe('a18');
    expect(await find(at(21))).toBeUndefined();
  });

  test('behavior: blocks and segments without a time are skipped', async () => {
    const timeless = run.map((block, i) =>
      i === 2 || i === 3 ? { ...block, header: { ...block.header, timestamp: null } } : block,
    );
    const snapshot = applyChanges(emptySnapshot, [
      { kind: 'create', anchor },
      { kind: 'extend', blocks: timeless },
      { kind: 'finalize', block: ref('a16') },
      { kind: 'seal', segments: [sealRun(timeless.slice(0, 2)), sealRun(timeless.slice(2, 3))] },
    ]);
    const { read, files } = reader(timeless.map(({ header }) => header));
    expect((await findBlockAtTime(snapshot, at(13), files))?.hash).toBe(hash('a18'));
    expect(read).toEqual([]);
    const early = run.map(({ header }) => ({ header: { ...header, timestamp: null }, payload: 1 }));
    const timelessChain = applyChanges(emptySnapshot, [
      { kind: 'create', anchor },
      { kind: 'extend', blocks: early },
      { kind: 'finalize', block: ref('a16') },
      { kind: 'seal', segments: [sealRun(early.slice(0, 2))] },
    ]);
    expect(await findBlockAtTime(timelessChain, 0n, files)).toBeUndefined();
    expect(read).toEqual([]);
  });

  test('behavior: a segment without the time that its entry states is a bug', async () => {
    const find = findBlockAtTime(stored(), at(12), {
      readHeaders: async () => [],
      readList: noLists,
    });
    await expect(find).rejects.toThrow('the time of one of its blocks');
  });
});

test('behavior: sealed blocks stay on the chain; hot ones while their hash does', () => {
  const snapshot = stored();
  for (const name of ['a10', 'a14', 'a16', 'a18', 'a20']) {
    expect(isStillOnChain(snapshot, ref(name))).toBe(true);
  }
  for (const name of ['b16', 'b20', 'a17', 'a21']) {
    expect(isStillOnChain(snapshot, ref(name))).toBe(false);
  }
  // Blocks up to the last sealed one are finalized, so only the slot counts. Above it, a branch may have skipped the slot.
  expect(isStillOnChain(snapshot, ref('x13'))).toBe(true);
  expect(isStillOnChain(snapshot, ref('x15'))).toBe(false);
  const onlySegments = { ...snapshot, hot: [], head: ref('a14') };
  expect(isStillOnChain(onlySegments, ref('a14'))).toBe(true);
  expect(isStillOnChain(onlySegments, ref('a15'))).toBe(false);
  expect(isStillOnChain(emptySnapshot, ref('a0'))).toBe(false);
});

test('behavior: a replaced block is found by its hash', () => {
  const blocks = makeRun('b', [19], { number: 18, hash: 'a18', height: 105 });
  const forked = applyChanges(stored(), [{ kind: 'replace', ancestor: ref('a18'), blocks }]);
  expect(findReplacedSlot(forked, hash('a20'))).toBe(20);
  expect(findReplacedSlot(forked, hash('b19'))).toBeUndefined();
  expect(findReplacedSlot(forked, 'not a hash')).toBeUndefined();
});

test('behavior: a hot block is found at its slot only', () => {
  const snapshot = stored();
  expect(findHot(snapshot, 18)?.header.hash).toBe(hash('a18'));
  expect(findHot(snapshot, 17)).toBeUndefined();
  expect(findHot(snapshot, 21)).toBeUndefined();
  expect([15, 16, 17, 20, 21].map((at) => firstHotAtOrAfter(snapshot, at))).toEqual([
    0, 0, 1, 2, 3,
  ]);
});
