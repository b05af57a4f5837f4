import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyChanges } from './apply-changes.ts';
import { type ChainSnapshot, emptySnapshot, type SegmentList } from './chain-snapshot.ts';
import {
  allLists,
  chooseList,
  describeRun,
  findSegment,
  type ListContent,
  type NewList,
  type ReadList,
  segmentAt,
  segmentsDownFrom,
  segmentsFrom,
  takeSegments,
  totalBelow,
  totalSealed,
} from './segment-lists.ts';
import { hash, makeRun, sealRun, slot } from './testing/chain-fixtures.ts';

/** A chain whose lists are in memory, and the slots of its segments, each of which has one block. */
class World {
  snapshot: ChainSnapshot;
  first = 1_000_000;
  last = this.first - 1;
  readonly files = new Map<string, ListContent>();
  readCount = 0;

  constructor() {
    const anchor = { number: slot(this.first - 1), hash: hash(`a${this.first - 1}`) };
    this.snapshot = applyChanges(emptySnapshot, [{ kind: 'create', anchor }]);
  }

  readonly readList: ReadList = async ({ id }) => {
    this.readCount++;
    return this.files.get(id) as ListContent;
  };

  append(count: number): void {
    for (const segments of chunksOf(segmentsOf(this.last + 1, count))) {
      this.snapshot = applyChanges(this.snapshot, [{ kind: 'append-sealed', segments }]);
      this.#list();
    }
    this.last += count;
  }

  prepend(count: number): void {
    if (this.last < this.first) return;
    this.first -= count;
    for (const segments of chunksOf(segmentsOf(this.first, count)).reverse()) {
      this.snapshot = applyChanges(this.snapshot, [{ kind: 'prepend', segments }]);
      this.#list();
    }
  }

  async trim(count: number): Promise<void> {
    const keepFrom = Math.min(this.first + count, this.last);
    if (this.last < this.first) return;
    for (;;) {
      this.snapshot = applyChanges(this.snapshot, [{ kind: 'trim', keepFrom: slot(keepFrom) }]);
      const [list] = this.snapshot.lists;
      if (list === undefined || this.snapshot.front.length > 0) break;
      const content = await this.readList(list);
      this.snapshot = applyChanges(this.snapshot, [{ kind: 'unlist', content }]);
      this.files.delete(list.id);
    }
    this.first = keepFrom;
  }

  #list(): void {
    for (;;) {
      const next = chooseList(this.snapshot);
      if (next === undefined) return;
      const list = describeList(next);
      this.files.set(list.id, next);
      this.snapshot = applyChanges(this.snapshot, [{ kind: 'list', list }]);
    }
  }
}

function chunksOf<Item>(items: readonly Item[]): Item[][] {
  const count = Math.ceil(items.length / 50);
  return Array.from({ length: count }, (_, i) => items.slice(i * 50, (i + 1) * 50));
}

function segmentsOf(first: number, count: number) {
  const slots = Array.from({ length: count }, (_, i) => first + i);
  const below = { number: first - 1, hash: `a${first - 1}`, height: first - 1 };
  return makeRun('a', slots, below).map((block) => sealRun([block]));
}

function describeList(next: NewList): SegmentList {
  const entries = next.kind === 'segments' ? next.segments : next.lists;
  const run = describeRun(entries);
  const id = `${run.first.number}-${run.last.number}-${next.depth}`;
  // Each segment of these tests has one block.
  return { id, ...run, depth: next.depth, segmentCount: run.blockCount };
}

async function slotsOf(segments: AsyncIterable<{ readonly first: { readonly number: number } }>) {
  const slots: number[] = [];
  for await (const { first } of segments) slots.push(first.number);
  return slots;
}

const range = (first: number, last: number) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);

test('property: segments are found in any order of appends, backfills and trims', async () => {
  const step = fc.record({
    kind: fc.constantFrom('append', 'append', 'prepend', 'trim'),
    count: fc.constantFrom(1, 5, 63, 64, 130, 400),
    probe: fc.nat(2_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const world = new World();
      for (const { kind, count, probe } of steps) {
        await world[kind](count);
        const { snapshot, first, last, readList } = world;
        const expected = range(first, last);
        expect(await slotsOf(segmentsFrom(snapshot, 0, readList))).toEqual(expected);
        expect(totalSealed(snapshot)).toMatchObject({ segmentCount: expected.length });
        const at = first + (probe % Math.max(1, expected.length));
        expect(await slotsOf(segmentsFrom(snapshot, at, readList))).toEqual(range(at, last));
        const down = await slotsOf(segmentsDownFrom(snapshot, at, readList));
        expect(down).toEqual(range(first, Math.min(at, last)).reverse());
        const below = await totalBelow(snapshot, at, readList);
        expect(below).toMatchObject({ segmentCount: at - first, blockCount: at - first });
        if (expected.length === 0) continue;
        expect((await findSegment(snapshot, at, readList))?.first.number).toBe(at);
        expect((await segmentAt(snapshot, at - first, readList)).first.number).toBe(at);
        const taken = await takeSegments(snapshot, at, { countMax: 3 }, readList);
        expect(taken.map((segment) => segment.first.number)).toEqual(range(at, last).slice(0, 3));
        const lists: string[] = [];
        for await (const { id } of allLists(snapshot.lists, readList)) lists.push(id);
        expect(lists.sort()).toEqual([...world.files.keys()].sort());
      }
    }),
    { numRuns: 20, seed: 1 },
  );
});

test('limit: a snapshot describes few segments and lists itself, and a segment is found by few reads', async () => {
  const world = new World();
  world.append(20_000);
  world.prepend(5_000);
  const { front, lists, segments } = world.snapshot;
  expect(front.length).toBeLessThan(128);
  expect(segments.length).toBeLessThan(128);
  expect(lists.length).toBeLessThan(4 * 128);
  expect(Math.max(...lists.map(({ depth }) => depth))).toBe(1);
  world.readCount = 0;
  expect((await findSegment(world.snapshot, world.first + 9_999, world.readList))?.blockCount).toBe(
    1,
  );
  expect(world.readCount).toBeLessThanOrEqual(2);
});

test('error: chain-segments-changed: a list must contain the segments that it replaces', () => {
  const world = new World();
  world.append(10);
  const { segments } = world.snapshot;
  const list = describeList({ kind: 'segments', depth: 0, segments: segments.slice(2, 6) });
  const insert = (change: Partial<SegmentList>) => () =>
    applyChanges(world.snapshot, [{ kind: 'list', list: { ...list, ...change } }]);
  expect(insert({})).not.toThrow();
  const changed = expect.objectContaining({ code: 'chain-segments-changed' });
  const outside = { number: slot(5), hash: hash('a5') };
  expect(insert({ blockCount: 5 })).toThrow(changed);
  expect(insert({ first: outside })).toThrow(changed);
  expect(insert({ first: outside, last: outside })).toThrow(changed);
});

test('behavior: segments that will be merged are listed only if there are very many', () => {
  const snapshotOf = (count: number) => {
    const world = new World();
    const { snapshot } = world;
    return applyChanges(snapshot, [
      { kind: 'append-sealed', segments: segmentsOf(world.first, count) },
    ]);
  };
  expect(chooseList(snapshotOf(128), () => false)).toBeUndefined();
  expect(chooseList(snapshotOf(127))).toBeUndefined();
  const last = (list: NewList | undefined) =>
    list?.kind === 'segments' ? list.segments.at(-1)?.last.number : undefined;
  expect(last(chooseList(snapshotOf(128)))).toBe(1_000_063);
  expect(last(chooseList(snapshotOf(512), () => false))).toBe(1_000_063);
});
