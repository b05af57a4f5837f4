import { describe, expect, test } from 'vitest';
import { applyChanges } from '../chain/apply-changes.ts';
import { type ChainSnapshot, emptySnapshot } from '../chain/chain-snapshot.ts';
import { hash, makeRun, ref, sealRun, slot } from '../chain/testing/chain-fixtures.ts';
import { chooseTrim } from './retention.ts';
import { chooseBlocksToSeal } from './segment-sealer.ts';

const anchor = { number: slot(9), hash: hash('a9') };
const run = makeRun('a', [10, 11, 12, 13, 14, 15, 16], { number: 9, hash: 'a9', height: 0 });

function grown(finalized: string): ChainSnapshot {
  return applyChanges(emptySnapshot, [
    { kind: 'create', anchor },
    { kind: 'extend', blocks: run },
    { kind: 'finalize', block: ref(finalized) },
  ]);
}

/** A chain of three segments (slots 10 and 11, 12 and 13, 14) with two bytes per block, and of the hot blocks at slots 15 and 16. */
function sealed(finalized = 'a15'): ChainSnapshot {
  const parts = [run.slice(0, 2), run.slice(2, 4), run.slice(4, 5)];
  const segments = parts.map((part) => ({ ...sealRun(part), byteLength: 2 * part.length }));
  return applyChanges(grown(finalized), [{ kind: 'seal', segments }]);
}

describe('trim', () => {
  test('default: everything is kept', () => {
    expect(chooseTrim(sealed(), { kind: 'all' })).toBeUndefined();
    expect(chooseTrim(emptySnapshot, { kind: 'blocks', count: 0 })).toBeUndefined();
  });

  test.each([
    [7, undefined],
    [6, undefined],
    [5, 12],
    [4, 12],
    [3, 14],
    [2, 15],
    [0, 15],
  ])('behavior: at least %i blocks are kept', (count, expected) => {
    expect(chooseTrim(sealed(), { kind: 'blocks', count })).toBe(expected);
  });

  test.each([
    [10, undefined],
    [9, 12],
    [6, 12],
    [5, 14],
    [2, 14],
    [1, 15],
    [0, 15],
  ])('behavior: segments are removed until at most %i bytes are left', (bytes, expected) => {
    expect(chooseTrim(sealed(), { kind: 'bytes', bytes })).toBe(expected);
  });

  test.each([
    [5, undefined],
    [4, 12],
    [3, 12],
    [2, 14],
    [1, 15],
  ])('behavior: blocks of the last %i seconds are kept', (seconds, expected) => {
    // Each block is a second above the one below; the newest is a16.
    expect(chooseTrim(sealed(), { kind: 'seconds', seconds })).toBe(expected);
  });

  test('behavior: without hot blocks the last segment stays, and times count from its newest block', () => {
    const snapshot = { ...sealed(), hot: [], finalized: ref('a14') };
    expect(chooseTrim(snapshot, { kind: 'blocks', count: 0 })).toBe(14);
    expect(chooseTrim(snapshot, { kind: 'seconds', seconds: 2 })).toBe(12);
    expect(chooseTrim(snapshot, { kind: 'seconds', seconds: 3 })).toBeUndefined();
  });

  test('behavior: the segment with the finalized head stays', () => {
    const snapshot = { ...sealed(), finalized: ref('a13') };
    expect(chooseTrim(snapshot, { kind: 'blocks', count: 0 })).toBe(12);
    expect(chooseTrim({ ...snapshot, finalized: null }, { kind: 'blocks', count: 0 })).toBe(
      undefined,
    );
  });

  test('behavior: a segment without a time stays, and those above it', () => {
    const snapshot = sealed();
    const segments = snapshot.segments.map((one, i) =>
      i === 1 ? { ...one, timestampMax: null } : one,
    );
    const retention = { kind: 'seconds', seconds: 0 } as const;
    expect(chooseTrim({ ...snapshot, segments }, retention)).toBe(12);
    const timeless = snapshot.segments.map((one) => ({ ...one, timestampMax: null }));
    expect(chooseTrim({ ...snapshot, hot: [], segments: timeless }, retention)).toBeUndefined();
    const known = [...snapshot.segments.slice(0, 1), ...timeless.slice(1)];
    expect(chooseTrim({ ...snapshot, hot: [], segments: known }, retention)).toBeUndefined();
  });
});

describe('blocks to seal', () => {
  const choose = (snapshot: ChainSnapshot, sealBlockCount: number, sealBytes: number) =>
    chooseBlocksToSeal(snapshot, { sealBlockCount, sealBytes }, ({ payload }) => payload).length;

  test('limit: as many blocks as fill a segment, by count or by bytes', () => {
    expect(choose(grown('a16'), 3, 1_000)).toBe(3);
    // The blocks have 10, 11 and 12 bytes.
    expect(choose(grown('a16'), 99, 21)).toBe(2);
    expect(choose(grown('a16'), 99, 22)).toBe(3);
    expect(choose(grown('a16'), 99, 1_000)).toBe(0);
  });

  test('behavior: only finalized blocks', () => {
    expect(choose(grown('a12'), 3, 1_000)).toBe(3);
    expect(choose(grown('a11'), 3, 1_000)).toBe(0);
    expect(choose({ ...grown('a12'), finalized: null }, 1, 1)).toBe(0);
  });
});
