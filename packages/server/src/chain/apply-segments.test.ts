import { isCodedError } from '@sluice/base/errors';
import { describe, expect, test } from 'vitest';
import { applyChanges } from './apply-changes.ts';
import type { ChainChange } from './chain-change.ts';
import { type ChainSnapshot, emptySnapshot, type IndexRun } from './chain-snapshot.ts';
import { hash, makeRun, nameOf, ref, sealRun, slot } from './testing/chain-fixtures.ts';

const anchor = { number: slot(9), hash: hash('a9') };
const below = { number: 9, hash: 'a9', height: 100 };
const head = { number: 15, hash: 'a15', height: 105 };

/** Blocks a10 to a15 over the anchor a9, slot 13 skipped, with a14 finalized. */
function grown(): ChainSnapshot {
  return applyChanges(emptySnapshot, [
    { kind: 'create', anchor },
    { kind: 'extend', blocks: makeRun('a', [10, 11, 12, 14, 15], below) },
    { kind: 'finalize', block: ref('a14') },
  ]);
}

/** The same chain, with slots 10 and 11 in one segment and slot 12 in another. */
function sealed(): ChainSnapshot {
  const snapshot = grown();
  const segments = [sealRun(snapshot.hot.slice(0, 2)), sealRun(snapshot.hot.slice(2, 3))];
  return applyChanges(snapshot, [{ kind: 'seal', segments }]);
}

function apply(snapshot: ChainSnapshot, change: ChainChange): ChainSnapshot {
  return applyChanges(snapshot, [change]);
}

function rejection(snapshot: ChainSnapshot, change: ChainChange): unknown {
  try {
    apply(snapshot, change);
  } catch (error) {
    if (isCodedError(error)) return { code: error.code, ...error.detail };
    throw error;
  }
  return 'accepted';
}

function hotNames(snapshot: ChainSnapshot): string[] {
  return snapshot.hot.map(({ header }) => nameOf(header.hash));
}

function segmentNames(snapshot: ChainSnapshot): string[] {
  return snapshot.segments.map(({ first, last }) => `${nameOf(first.hash)}-${nameOf(last.hash)}`);
}

describe('extend above segments', () => {
  test('behavior: blocks at sealed slots are ignored, whatever they contain', () => {
    const blocks = [...makeRun('x', [10, 12], below), ...makeRun('a', [16], head)];
    expect(hotNames(apply(sealed(), { kind: 'extend', blocks }))).toEqual(['a14', 'a15', 'a16']);
  });

  test('behavior: a chain without hot blocks grows from its last segment', () => {
    const all = grown();
    const segments = [sealRun(all.hot.slice(0, 3)), sealRun(all.hot.slice(3, 4))];
    const rest = applyChanges(all, [{ kind: 'seal', segments }]);
    const onlySegments = { ...rest, hot: [] };
    const blocks = makeRun('b', [17], { number: 14, hash: 'a14', height: 104 });
    expect(hotNames(apply(onlySegments, { kind: 'extend', blocks }))).toEqual(['b17']);
    expect(rejection(onlySegments, { kind: 'extend', blocks: makeRun('b', [17], head) })).toEqual({
      code: 'chain-not-linked',
      slot: 17,
      parentSlot: 15,
      parentHash: hash('a15'),
      expectedParentSlot: 14,
      expectedParentHash: hash('a14'),
    });
  });

  test('error: chain-height-wrong states the height that was expected above a segment', () => {
    const onlySegments = { ...sealed(), hot: [] };
    const blocks = makeRun('b', [17], { number: 12, hash: 'a12', height: 7 });
    expect(rejection(onlySegments, { kind: 'extend', blocks })).toEqual({
      code: 'chain-height-wrong',
      slot: 17,
      height: 8,
      expectedHeight: 104,
    });
  });
});

describe('append-sealed', () => {
  const created = applyChanges(emptySnapshot, [{ kind: 'create', anchor }]);
  const run = makeRun('a', [10, 11, 12], below);
  const first = sealRun(run.slice(0, 2));
  const second = sealRun(run.slice(2));

  test('default: all segments are added after those that were there', () => {
    const one = apply(created, { kind: 'append-sealed', segments: [first] });
    const two = apply(one, { kind: 'append-sealed', segments: [second] });
    expect(segmentNames(two)).toEqual(['a10-a11', 'a12-a12']);
    expect(apply(two, { kind: 'append-sealed', segments: [] })).toBe(two);
  });

  test.each([
    ['another parent slot', { ...second, parentSlot: slot(10) }],
    ['another parent hash', { ...second, parentHash: hash('b11') }],
    ['a first slot that is not above its parent', { ...second, first: ref('a11') }],
  ])('error: chain-not-linked for a segment with %s', (_name, broken) => {
    const change: ChainChange = { kind: 'append-sealed', segments: [first, broken] };
    expect(rejection(created, change)).toEqual({
      code: 'chain-not-linked',
      slot: broken.first.number,
      parentSlot: broken.parentSlot,
      parentHash: broken.parentHash,
      expectedParentSlot: 11,
      expectedParentHash: hash('a11'),
    });
  });

  test('error: chain-not-linked for a ledger whose first segment is not at slot 0', () => {
    const empty = applyChanges(emptySnapshot, [{ kind: 'create', anchor: null }]);
    expect(rejection(empty, { kind: 'append-sealed', segments: [first] })).toEqual({
      code: 'chain-not-linked',
      slot: 10,
      parentSlot: 9,
      parentHash: hash('a9'),
      expectedParentSlot: 'none',
      expectedParentHash: null,
    });
    const genesis = sealRun(makeRun('a', [0, 1], null));
    expect(segmentNames(apply(empty, { kind: 'append-sealed', segments: [genesis] }))).toEqual([
      'a0-a1',
    ]);
  });

  test('behavior: descending segments, hot blocks and a chain without start are bugs', () => {
    const descending = { ...first, first: ref('a11'), last: ref('a10') };
    expect(() => apply(created, { kind: 'append-sealed', segments: [descending] })).toThrow(
      'a segment ascends',
    );
    expect(() => apply(sealed(), { kind: 'append-sealed', segments: [second] })).toThrow(
      'without hot blocks',
    );
    expect(() => apply(emptySnapshot, { kind: 'append-sealed', segments: [first] })).toThrow(
      'created before it grows',
    );
  });
});

describe('prepend', () => {
  const history = makeRun('a', [5, 7, 9], { number: 4, hash: 'a4', height: 97 });

  test('default: the segments are added before those that were there', () => {
    const segments = [sealRun(history.slice(0, 1)), sealRun(history.slice(1))];
    const next = apply(sealed(), { kind: 'prepend', segments });
    expect(segmentNames(next)).toEqual(['a5-a5', 'a7-a9', 'a10-a11', 'a12-a12']);
    expect(apply(next, { kind: 'prepend', segments: [] })).toBe(next);
  });

  test('error: chain-not-linked states the anchor at which history must end', () => {
    const short = [sealRun(history.slice(0, 2))];
    const details = { code: 'chain-not-linked', expectedSlot: 9, expectedHash: hash('a9') };
    expect(rejection(sealed(), { kind: 'prepend', segments: short })).toEqual({
      ...details,
      slot: 7,
      hash: hash('a7'),
    });
    const sameHash = [{ ...sealRun(history), last: { number: slot(8), hash: hash('a9') } }];
    expect(rejection(sealed(), { kind: 'prepend', segments: sameHash })).toEqual({
      ...details,
      slot: 8,
      hash: hash('a9'),
    });
  });

  test('behavior: history below slot 0 or below no finalized block is a bug', () => {
    const segments = [sealRun(history)];
    const fromZero = { ...sealed(), anchor: null };
    expect(() => apply(fromZero, { kind: 'prepend', segments })).toThrow('above the beginning');
    const unfinalized = { ...sealed(), finalized: null };
    expect(() => apply(unfinalized, { kind: 'prepend', segments })).toThrow('below finalized');
  });
});

describe('trim', () => {
  test('behavior: a trim within the first segment changes nothing', () => {
    const snapshot = sealed();
    expect(apply(snapshot, { kind: 'trim', keepFrom: slot(11) })).toBe(snapshot);
    const hotOnly = grown();
    expect(apply(hotOnly, { kind: 'trim', keepFrom: slot(10) })).toBe(hotOnly);
  });

  test('behavior: hot blocks are removed only if no segment is left below them', () => {
    expect(hotNames(apply(sealed(), { kind: 'trim', keepFrom: slot(12) }))).toEqual(['a14', 'a15']);
    const next = apply(grown(), { kind: 'trim', keepFrom: slot(12) });
    expect(hotNames(next)).toEqual(['a12', 'a14', 'a15']);
    expect(next).toMatchObject({ anchor: ref('a11'), start: 12 });
    const unsealed = apply(sealed(), { kind: 'trim', keepFrom: slot(14) });
    expect(unsealed).toMatchObject({ segments: [], anchor: ref('a12'), start: 13 });
  });

  test('error: chain-trim-too-high states the finalized slot, or that no block is finalized', () => {
    const code = 'chain-trim-too-high';
    const change: ChainChange = { kind: 'trim', keepFrom: slot(15) };
    expect(rejection(sealed(), change)).toEqual({ code, keepFrom: 15, finalizedSlot: 14 });
    const unfinalized = { ...grown(), finalized: null };
    expect(rejection(unfinalized, change)).toEqual({ code, keepFrom: 15, finalizedSlot: null });
  });
});

describe('seal', () => {
  test('behavior: blocks up to the finalized one can be sealed; nothing to seal changes nothing', () => {
    const snapshot = grown();
    const segments = [sealRun(snapshot.hot.slice(0, 4))];
    expect(hotNames(apply(snapshot, { kind: 'seal', segments }))).toEqual(['a15']);
    expect(apply(snapshot, { kind: 'seal', segments: [] })).toBe(snapshot);
  });

  const segment = sealRun(grown().hot.slice(0, 2));
  test.each([
    ['ends with the last', { ...segment, last: ref('b11') }],
    ['ends with the last', { ...segment, blockCount: 3 }],
    ['ends with the last', { ...segment, blockCount: 9 }],
    ['keeps the link', { ...segment, parentHash: hash('b9') }],
    ['keeps the height', { ...segment, lastHeight: 1 }],
  ])('behavior: a segment that differs from its blocks is a bug: it %s', (text, broken) => {
    expect(() => apply(grown(), { kind: 'seal', segments: [broken] })).toThrow(text);
  });

  test('error: chain-segments-changed: blocks that are not hot any more are not sealed again', () => {
    const code = 'chain-segments-changed';
    for (const snapshot of [sealed(), { ...grown(), hot: [] }]) {
      const change: ChainChange = { kind: 'seal', segments: [segment] };
      expect(rejection(snapshot, change)).toEqual({ code, first: 10, last: 11 });
    }
  });

  test('behavior: announcing a segment that is stored already does not make it unused', () => {
    const snapshot = sealed();
    const [stored] = snapshot.segments;
    const files = [`segments/${stored?.id}`, 'segments/other'];
    expect(apply(snapshot, { kind: 'announce', files }).unused).toEqual(['segments/other']);
  });

  test('behavior: sealing blocks that are not finalized is a bug', () => {
    const unfinalized = { ...grown(), finalized: null };
    expect(() => apply(unfinalized, { kind: 'seal', segments: [segment] })).toThrow(
      'only finalized',
    );
  });
});

describe('rewrite', () => {
  test('default: segments and hot blocks get their new bytes in place', () => {
    const snapshot = sealed();
    const [first, second] = snapshot.segments;
    const newSecond = { ...(second as NonNullable<typeof second>), byteLength: 77 };
    const block = snapshot.hot[1] as ChainSnapshot['hot'][number];
    const next = apply(snapshot, {
      kind: 'rewrite',
      segments: [newSecond],
      blocks: [{ ...block, payload: 99 }],
    });
    expect(next.segments).toEqual([first, newSecond]);
    expect(next.hot.map(({ payload }) => payload)).toEqual([14, 99]);
    expect(next).toMatchObject({ head: ref('a15'), finalized: ref('a14'), start: 10 });
    expect(hotNames(next)).toEqual(['a14', 'a15']);
  });

  test.each([
    ['was in the chain', { first: ref('b10') }],
    ['contains the same blocks', { last: ref('b11') }],
    ['contains the same blocks', { blockCount: 3 }],
  ])('behavior: rewriting other blocks is a bug: a segment %s', (text, changed) => {
    const snapshot = sealed();
    const segment = { ...(snapshot.segments[0] as (typeof snapshot.segments)[0]), ...changed };
    const change: ChainChange = { kind: 'rewrite', segments: [segment], blocks: [] };
    expect(() => apply(snapshot, change)).toThrow(text);
  });
});

describe('index', () => {
  const run = (first: number, last: number): IndexRun => ({
    ...{ id: `${first}-${last}.index`, first, last, byteLength: 1 },
    ...{ pageCount: 1, partCount: 1, keyCount: 1, listBytes: 0, numberBytes: 0 },
  });
  const index = (first: number, last: number): ChainChange => ({
    kind: 'index',
    run: run(first, last),
  });
  const namesOf = ({ indexes }: ChainSnapshot) => indexes.map(({ id }) => id);

  test('behavior: an index replaces those inside it, whose files are no longer used', () => {
    const two = applyChanges(sealed(), [index(10, 11), index(12, 12)]);
    const merged = apply(two, index(10, 12));
    expect(namesOf(merged)).toEqual(['10-12.index']);
    expect(merged.unused).toEqual(
      expect.arrayContaining(['indexes/10-11.index', 'indexes/12-12.index']),
    );
  });

  test('behavior: an index is refused if another writer has merged some of its inputs with others', () => {
    const other = apply(sealed(), index(11, 12));
    const change = index(10, 11);
    expect(rejection(other, change)).toEqual({
      code: 'chain-segments-changed',
      first: 10,
      last: 11,
    });
  });

  test('behavior: an index whose segments retention has removed meanwhile is not added', () => {
    const file = 'indexes/10-11.index';
    const announced = apply(sealed(), { kind: 'announce', files: [file] });
    const trimmed = apply(announced, { kind: 'trim', keepFrom: slot(12) });
    const after = apply(trimmed, index(10, 11));
    expect([namesOf(after), after.unused.includes(file)]).toEqual([[], true]);
  });
});
