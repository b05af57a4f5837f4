import { isCodedError } from '@sluice/base/errors';
import { describe, expect, test } from 'vitest';
import { applyChanges, replacedCountMax } from './apply-changes.ts';
import type { ChainChange } from './chain-change.ts';
import { type ChainSnapshot, emptySnapshot } from './chain-snapshot.ts';
import { linkedHeight } from './link-block.ts';
import { hash, makeHeader, makeRun, nameOf, ref, sealRun, slot } from './testing/chain-fixtures.ts';

const anchor = { number: slot(9), hash: hash('a9') };
const below = { number: 9, hash: 'a9', height: 100 };

function build(...changes: ChainChange[]): ChainSnapshot {
  return applyChanges(emptySnapshot, changes);
}

/** Blocks a10 to a15 over the anchor a9, slot 13 skipped, a11 finalized. */
function grown(): ChainSnapshot {
  return build(
    { kind: 'create', anchor },
    { kind: 'extend', blocks: makeRun('a', [10, 11, 12, 14, 15], below) },
    { kind: 'finalize', block: ref('a11') },
  );
}

function names(snapshot: ChainSnapshot): string[] {
  return snapshot.hot.map(({ header }) => nameOf(header.hash));
}

function errorCodeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isCodedError(error)) return error.code;
    throw error;
  }
  return 'accepted';
}

function headerAt(snapshot: ChainSnapshot, name: string) {
  const found = snapshot.hot.find(({ header }) => header.hash === hash(name));
  if (found === undefined) throw new RangeError(name);
  return found.header;
}

describe('extend', () => {
  test('default: children of the head are added, and the head is the last of them', () => {
    const snapshot = grown();
    expect(names(snapshot)).toEqual(['a10', 'a11', 'a12', 'a14', 'a15']);
    expect(snapshot.head).toEqual(ref('a15'));
    expect(snapshot.start).toBe(10);
    expect(snapshot.version).toBe(1);
  });

  test('behavior: a ledger from slot 0 has no anchor and starts at 0', () => {
    const snapshot = build(
      { kind: 'create', anchor: null },
      { kind: 'extend', blocks: makeRun('a', [0, 1], null) },
    );
    expect(snapshot.start).toBe(0);
    expect(snapshot.anchor).toBeNull();
    expect(names(snapshot)).toEqual(['a0', 'a1']);
  });

  const head = { number: 15, hash: 'a15', height: 105 };
  const child = makeHeader('a', 16, head);
  const cases: [string, typeof child, string][] = [
    [
      'a wrong parent slot with the right hash',
      { ...child, parentSlot: slot(14) },
      'chain-not-linked',
    ],
    [
      'a wrong parent hash with the right slot',
      { ...child, parentHash: hash('b15') },
      'chain-not-linked',
    ],
    ['an unknown parent hash', { ...child, parentHash: null }, 'chain-not-linked'],
    [
      'a slot equal to that of its parent',
      { ...child, number: slot(15), hash: hash('c15') },
      'chain-not-linked',
    ],
    ['a height that skips one', { ...child, height: 107 }, 'chain-height-wrong'],
    ['a missing height above a known one', { ...child, height: null }, 'chain-height-wrong'],
    ['the hash of another block', { ...child, hash: hash('a12') }, 'chain-hash-reused'],
    ["the anchor's hash", { ...child, hash: hash('a9') }, 'chain-hash-reused'],
  ];
  test.each(cases)('error: I-01 %s is rejected', (_name, header, code) => {
    const snapshot = grown();
    const change: ChainChange = { kind: 'extend', blocks: [{ header, payload: 1 }] };
    expect(errorCodeOf(() => applyChanges(snapshot, [change]))).toBe(code);
  });

  test('error: I-10 a run with one bad block changes nothing', () => {
    const snapshot = grown();
    const run = makeRun('a', [16, 17, 18], head);
    const broken = run.map((block, i) =>
      i === 1 ? { ...block, header: { ...block.header, parentSlot: slot(15) } } : block,
    );
    expect(errorCodeOf(() => applyChanges(snapshot, [{ kind: 'extend', blocks: broken }]))).toBe(
      'chain-not-linked',
    );
    expect(names(snapshot)).toHaveLength(5);
  });

  test('error: the ledger must begin with a block at slot 0', () => {
    const change: ChainChange = {
      kind: 'extend',
      blocks: makeRun('a', [1], { ...below, number: 0 }),
    };
    expect(errorCodeOf(() => build({ kind: 'create', anchor: null }, change))).toBe(
      'chain-not-linked',
    );
  });

  test('behavior: I-13 blocks that are already stored change nothing, at any depth', () => {
    const snapshot = grown();
    for (const [from, to] of [
      [0, 5],
      [1, 3],
      [4, 5],
    ]) {
      const blocks = snapshot.hot.slice(from, to);
      expect(applyChanges(snapshot, [{ kind: 'extend', blocks }])).toBe(snapshot);
    }
    const overlapping = [...snapshot.hot.slice(3), { header: child, payload: 16 }];
    expect(names(applyChanges(snapshot, [{ kind: 'extend', blocks: overlapping }]))).toEqual([
      ...names(snapshot),
      'a16',
    ]);
  });

  test('error: I-13 a stored hash with another parent is rejected', () => {
    const snapshot = grown();
    const header = { ...headerAt(snapshot, 'a14'), parentSlot: slot(11) };
    const change: ChainChange = { kind: 'extend', blocks: [{ header, payload: 1 }] };
    expect(errorCodeOf(() => applyChanges(snapshot, [change]))).toBe('chain-hash-reused');
  });
});

describe('details of a rejection', () => {
  function rejection(...changes: ChainChange[]): unknown {
    try {
      applyChanges(grown(), changes);
    } catch (error) {
      if (isCodedError(error)) return { code: error.code, ...error.detail };
      throw error;
    }
    return 'accepted';
  }
  const branch = (parent: string, height: number) =>
    makeRun('b', [17, 18], { ...ref(parent), height });

  test('error: chain-hash-reused names the block, whether stored, new or the anchor', () => {
    const code = 'chain-hash-reused';
    const head = headerAt(grown(), 'a15');
    const child = makeHeader('a', 16, head);
    const extend = (...headers: (typeof child)[]) =>
      rejection({ kind: 'extend', blocks: headers.map((header) => ({ header, payload: 1 })) });
    expect(extend({ ...child, hash: hash('a12') })).toEqual({ code, slot: 12, hash: hash('a12') });
    expect(extend({ ...child, hash: hash('a9') })).toEqual({ code, slot: 16, hash: hash('a9') });
    const twice = { ...makeHeader('a', 17, child), hash: child.hash };
    expect(extend(child, twice)).toEqual({ code, slot: 17, hash: hash('a16') });
    const otherParent = { ...headerAt(grown(), 'a14'), parentHash: hash('b12') };
    expect(extend(otherParent)).toEqual({ code, slot: 14, hash: hash('a14') });
  });

  test('error: chain-fork-below-finality names both slots', () => {
    expect(
      rejection({ kind: 'replace', ancestor: ref('a10'), blocks: branch('a10', 101) }),
    ).toEqual({ code: 'chain-fork-below-finality', slot: 10, finalizedSlot: 11 });
  });

  test.each(['b12', 'a13', 'a20'])(
    'error: chain-ancestor-unknown names the ancestor %s',
    (name) => {
      expect(rejection({ kind: 'replace', ancestor: ref(name), blocks: branch(name, 1) })).toEqual({
        code: 'chain-ancestor-unknown',
        slot: ref(name).number,
        hash: hash(name),
      });
    },
  );

  test('error: chain-ancestor-unknown for the right hash at another slot, and for a chain without blocks', () => {
    const ancestor = { number: slot(16), hash: hash('a15') };
    const change: ChainChange = { kind: 'replace', ancestor, blocks: branch('a15', 105) };
    const details = { code: 'chain-ancestor-unknown', hash: hash('a15') };
    expect(rejection(change)).toEqual({ ...details, slot: 16 });
    const empty = build({ kind: 'create', anchor: null });
    expect(errorCodeOf(() => applyChanges(empty, [change]))).toBe('chain-ancestor-unknown');
  });

  test('error: chain-finality-contradicted and chain-finality-unknown name the blocks', () => {
    expect(rejection({ kind: 'finalize', block: ref('b11') })).toEqual({
      code: 'chain-finality-contradicted',
      slot: 11,
      hash: hash('b11'),
      finalizedHash: hash('a11'),
    });
    expect(rejection({ kind: 'finalize', block: ref('a13') })).toEqual({
      code: 'chain-finality-unknown',
      slot: 13,
      hash: hash('a13'),
    });
  });

  test('behavior: a second creation, growth before it and an empty branch are bugs', () => {
    expect(() => rejection({ kind: 'create', anchor })).toThrow('a chain is created once');
    const blocks = makeRun('a', [10], below);
    expect(() => build({ kind: 'extend', blocks })).toThrow('created before it grows');
    expect(() => rejection({ kind: 'replace', ancestor: ref('a12'), blocks: [] })).toThrow(
      'at least one block',
    );
  });

  test('behavior: a branch may repeat stored blocks, and leaves the chain at the last of them', () => {
    const snapshot = grown();
    const known = snapshot.hot.slice(1, 3);
    const blocks = [...known, ...makeRun('b', [13], headerAt(snapshot, 'a12'))];
    const change: ChainChange = { kind: 'replace', ancestor: ref('a10'), blocks };
    expect(names(applyChanges(snapshot, [change]))).toEqual(['a10', 'a11', 'a12', 'b13']);
    const onlyKnown: ChainChange = { kind: 'replace', ancestor: ref('a10'), blocks: known };
    expect(applyChanges(snapshot, [onlyKnown])).toBe(snapshot);
  });
});

describe('replace', () => {
  test('default: the branch replaces the old blocks, and their hashes are remembered', () => {
    const snapshot = grown();
    const blocks = makeRun('b', [13, 14], headerAt(snapshot, 'a12'));
    const next = applyChanges(snapshot, [{ kind: 'replace', ancestor: ref('a12'), blocks }]);
    expect(names(next)).toEqual(['a10', 'a11', 'a12', 'b13', 'b14']);
    expect(next.head).toEqual(ref('b14'));
    expect([...next.replaced]).toEqual([
      [hash('a14'), 14],
      [hash('a15'), 15],
    ]);
  });

  test('behavior: I-43 a hash that is adopted again no longer counts as replaced', () => {
    const snapshot = grown();
    const branch = makeRun('b', [13], headerAt(snapshot, 'a12'));
    const forked = applyChanges(snapshot, [
      { kind: 'replace', ancestor: ref('a12'), blocks: branch },
    ]);
    const back = applyChanges(forked, [
      { kind: 'replace', ancestor: ref('a12'), blocks: snapshot.hot.slice(3, 4) },
    ]);
    expect(names(back)).toEqual(['a10', 'a11', 'a12', 'a14']);
    expect([...back.replaced.keys()]).toEqual(['a15', 'b13'].map(hash));
  });

  test('error: I-12 a branch from below the finalized head is rejected', () => {
    const snapshot = grown();
    const blocks = makeRun('b', [11, 16], headerAt(snapshot, 'a10'));
    const change: ChainChange = { kind: 'replace', ancestor: ref('a10'), blocks };
    expect(errorCodeOf(() => applyChanges(snapshot, [change]))).toBe('chain-fork-below-finality');
  });

  test('behavior: a branch may start at the finalized head', () => {
    const snapshot = grown();
    const blocks = makeRun('b', [12], headerAt(snapshot, 'a11'));
    const next = applyChanges(snapshot, [{ kind: 'replace', ancestor: ref('a11'), blocks }]);
    expect(names(next)).toEqual(['a10', 'a11', 'b12']);
  });

  test('behavior: while nothing is finalized a branch may start at the anchor', () => {
    const start = build(
      { kind: 'create', anchor },
      { kind: 'extend', blocks: makeRun('a', [10], below) },
    );
    const blocks = makeRun('b', [10, 11], below);
    const next = applyChanges(start, [{ kind: 'replace', ancestor: ref('a9'), blocks }]);
    expect(names(next)).toEqual(['b10', 'b11']);
  });

  test('error: an ancestor that is not on the chain is rejected, by hash and by slot', () => {
    const snapshot = grown();
    for (const name of ['b12', 'a13', 'a16']) {
      const blocks = makeRun('b', [17], { ...ref(name), height: 102 });
      const change: ChainChange = { kind: 'replace', ancestor: ref(name), blocks };
      expect(errorCodeOf(() => applyChanges(snapshot, [change]))).toBe('chain-ancestor-unknown');
    }
  });

  test('behavior: I-13 a branch of stored blocks is not a fork', () => {
    const snapshot = grown();
    const change: ChainChange = {
      kind: 'replace',
      ancestor: ref('a11'),
      blocks: snapshot.hot.slice(2, 4),
    };
    expect(applyChanges(snapshot, [change])).toBe(snapshot);
  });

  test('limit: I-43 the last 10,000 replaced hashes are kept', () => {
    let snapshot = build(
      { kind: 'create', anchor },
      { kind: 'extend', blocks: makeRun('a', [10, 11], below) },
    );
    const ancestor = ref('a10');
    const parent = headerAt(snapshot, 'a10');
    const slots = Array.from({ length: 6_000 }, (_, i) => 11 + i);
    for (const branch of ['b', 'c', 'd']) {
      const blocks = makeRun(branch, slots, parent);
      snapshot = applyChanges(snapshot, [{ kind: 'replace', ancestor, blocks }]);
    }
    expect(snapshot.replaced.size).toBe(replacedCountMax);
    expect(snapshot.replaced.has(hash('c6010'))).toBe(true);
    expect(snapshot.replaced.has(hash('b2010'))).toBe(false);
    expect(snapshot.replaced.has(hash('b2011'))).toBe(true);
  });
});

describe('finalize', () => {
  test('behavior: I-11 the finalized head only rises', () => {
    const snapshot = grown();
    expect(snapshot.finalized).toEqual(ref('a11'));
    expect(applyChanges(snapshot, [{ kind: 'finalize', block: ref('a10') }])).toBe(snapshot);
    expect(applyChanges(snapshot, [{ kind: 'finalize', block: ref('a11') }])).toBe(snapshot);
    const next = applyChanges(snapshot, [{ kind: 'finalize', block: ref('a15') }]);
    expect(next.finalized).toEqual(ref('a15'));
  });

  test.each([
    ['another hash at the finalized slot', 'b11', 'chain-finality-contradicted'],
    ['another hash above it', 'b14', 'chain-finality-unknown'],
    ['a skipped slot', 'a13', 'chain-finality-unknown'],
    ['a block above the head', 'a16', 'chain-finality-unknown'],
  ])('error: I-04 %s is refused', (_name, block, code) => {
    const change: ChainChange = { kind: 'finalize', block: ref(block) };
    expect(errorCodeOf(() => applyChanges(grown(), [change]))).toBe(code);
  });
});

describe('seal, trim, prepend', () => {
  function sealed(): ChainSnapshot {
    const snapshot = applyChanges(grown(), [{ kind: 'finalize', block: ref('a14') }]);
    const segments = [sealRun(snapshot.hot.slice(0, 2)), sealRun(snapshot.hot.slice(2, 3))];
    return applyChanges(snapshot, [{ kind: 'seal', segments }]);
  }

  test('default: sealing moves the lowest blocks and changes neither heads nor start', () => {
    const snapshot = sealed();
    expect(names(snapshot)).toEqual(['a14', 'a15']);
    expect(snapshot.segments.map(({ last }) => nameOf(last.hash))).toEqual(['a11', 'a12']);
    expect(snapshot).toMatchObject({ head: ref('a15'), finalized: ref('a14'), start: 10 });
  });

  test('behavior: only finalized blocks can be sealed', () => {
    const snapshot = grown();
    const segments = [sealRun(snapshot.hot.slice(0, 3))];
    expect(() => applyChanges(snapshot, [{ kind: 'seal', segments }])).toThrow('only finalized');
  });

  test('behavior: I-03 a trim drops whole segments and takes the anchor from the last of them', () => {
    const next = applyChanges(sealed(), [{ kind: 'trim', keepFrom: slot(12) }]);
    expect(next.anchor).toEqual(ref('a11'));
    expect(next.start).toBe(12);
    expect(next.segments.map(({ last }) => nameOf(last.hash))).toEqual(['a12']);
  });

  test('behavior: a trim beyond the segments also removes finalized hot blocks', () => {
    const next = applyChanges(sealed(), [{ kind: 'trim', keepFrom: slot(14) }]);
    expect(next.anchor).toEqual(ref('a12'));
    expect(names(next)).toEqual(['a14', 'a15']);
  });

  test('error: I-82 a trim above the finalized head is rejected', () => {
    const change: ChainChange = { kind: 'trim', keepFrom: slot(15) };
    expect(errorCodeOf(() => applyChanges(sealed(), [change]))).toBe('chain-trim-too-high');
  });

  test('behavior: history whose last block is the anchor lowers start and anchor', () => {
    const history = sealRun(makeRun('a', [5, 7, 9], { number: 4, hash: 'a4', height: 97 }));
    const next = applyChanges(sealed(), [{ kind: 'prepend', segments: [history] }]);
    expect(next.anchor).toEqual(ref('a4'));
    expect(next.start).toBe(5);
  });

  test('behavior: history down to slot 0 leaves no anchor', () => {
    const history = sealRun(makeRun('a', [0, 9], null));
    const next = applyChanges(sealed(), [{ kind: 'prepend', segments: [history] }]);
    expect(next.anchor).toBeNull();
    expect(next.start).toBe(0);
  });

  test('error: history whose last block is not the anchor is rejected', () => {
    const history = sealRun(makeRun('b', [5, 9], { number: 4, hash: 'a4', height: 97 }));
    const change: ChainChange = { kind: 'prepend', segments: [history] };
    expect(errorCodeOf(() => applyChanges(sealed(), [change]))).toBe('chain-not-linked');
  });

  test('behavior: sealed blocks can be appended to a chain without hot blocks, and are finalized at once', () => {
    const first = sealRun(makeRun('a', [10, 11], below));
    const second = sealRun(makeRun('a', [12], { number: 11, hash: 'a11', height: 102 }));
    const next = build(
      { kind: 'create', anchor },
      { kind: 'append-sealed', segments: [first, second] },
    );
    expect(next).toMatchObject({ head: ref('a12'), finalized: ref('a12'), hot: [] });
  });
});

test('behavior: a missing height is that of the parent plus one, 0 at slot 0, otherwise unknown', () => {
  const header = { ...makeHeader('a', 16, below), height: null };
  expect(linkedHeight({ number: slot(9), hash: hash('a9'), height: 7 }, header)).toBe(8);
  expect(linkedHeight({ number: slot(9), hash: hash('a9'), height: null }, header)).toBeNull();
  expect(linkedHeight(null, header)).toBe(0);
  expect(linkedHeight(null, { ...header, height: 5 })).toBe(5);
});
