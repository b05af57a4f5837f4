import { isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyChanges } from './apply-changes.ts';
import type { ChainChange } from './chain-change.ts';
import { type ChainSnapshot, emptySnapshot, type SealedSegment } from './chain-snapshot.ts';
import {
  findBlockAtOrAfter,
  findBlockAtTime,
  findPreviousBlocks,
  findReplacedSlot,
  isStillOnChain,
} from './find-blocks.ts';
import { hash, makeHeader, noLists, sealRun, slot } from './testing/chain-fixtures.ts';

/** The expected chain, in plain arrays without optimization. */
interface Model {
  anchor: { number: number; hash: string; height: number };
  blocks: BlockHeader[];
  finalizedCount: number;
  sealedCount: number;
  replaced: string[];
}

interface World {
  snapshot: ChainSnapshot;
  /** Headers by segment id, in place of the segment files. */
  files: Map<string, BlockHeader[]>;
  branchCount: number;
}

type Step = (model: Model, world: World) => void;

function apply(world: World, ...changes: ChainChange[]): void {
  world.snapshot = applyChanges(world.snapshot, changes);
}

function expectRejected(world: World, ...changes: ChainChange[]): void {
  const before = world.snapshot;
  let code: string | undefined;
  try {
    world.snapshot = applyChanges(before, changes);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    code = error.code;
  }
  expect(code).toBeDefined();
}

function runAbove(
  world: World,
  parent: { number: number; hash: string; height: number | null },
  gaps: readonly number[],
): BlockHeader[] {
  const branch = `n${world.branchCount++}x`;
  const run: BlockHeader[] = [];
  let below = parent;
  for (const gap of gaps) {
    const header = makeHeader(branch, below.number + gap, below);
    run.push(header);
    below = header;
  }
  return run;
}

const asHot = (headers: readonly BlockHeader[]) =>
  headers.map((header) => ({ header, payload: header.number }));
const refs = (headers: readonly BlockHeader[]) =>
  headers.map(({ number, hash }) => ({ number, hash }));
const tipOf = (model: Model) => model.blocks.at(-1) ?? model.anchor;

const gapsOf = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 300 })), {
  minLength: 1,
  maxLength: 8,
});

const produce: fc.Arbitrary<Step> = gapsOf.map((gaps) => (model, world) => {
  const run = runAbove(world, tipOf(model), gaps);
  apply(world, { kind: 'extend', blocks: asHot(run) });
  model.blocks.push(...run);
});

const fork: fc.Arbitrary<Step> = fc
  .tuple(fc.integer({ min: 1, max: 40 }), gapsOf)
  .map(([depth, gaps]) => (model, world) => {
    const kept = Math.max(model.finalizedCount, model.blocks.length - depth);
    const ancestor = model.blocks[kept - 1] ?? model.anchor;
    const run = runAbove(world, ancestor, gaps);
    const change: ChainChange = {
      kind: 'replace',
      ancestor: { number: slot(ancestor.number), hash: hash(ancestor.hash) },
      blocks: asHot(run),
    };
    apply(world, change);
    model.replaced.push(...model.blocks.slice(kept).map((header) => header.hash));
    model.blocks.splice(kept, Number.POSITIVE_INFINITY, ...run);
  });

const forkBelowFinality: fc.Arbitrary<Step> = fc.nat().map((seed) => (model, world) => {
  if (model.finalizedCount < 2) return;
  const ancestor = model.blocks[seed % (model.finalizedCount - 1)] as BlockHeader;
  const run = runAbove(world, ancestor, [1, 500]);
  expectRejected(world, { kind: 'replace', ancestor, blocks: asHot(run) });
});

const finalize: fc.Arbitrary<Step> = fc.nat().map((seed) => (model, world) => {
  if (model.blocks.length === 0) return;
  const index = seed % model.blocks.length;
  apply(world, { kind: 'finalize', block: model.blocks[index] as BlockHeader });
  model.finalizedCount = Math.max(model.finalizedCount, index + 1);
});

const lieAboutFinality: fc.Arbitrary<Step> = fc.nat().map((seed) => (model, world) => {
  const index = model.finalizedCount - 1 + (seed % 3);
  const truth = model.blocks[index];
  if (truth === undefined) return;
  expectRejected(world, { kind: 'finalize', block: { number: truth.number, hash: hash('lie') } });
});

const redeliver: fc.Arbitrary<Step> = fc
  .tuple(fc.nat(), fc.nat())
  .map(([a, b]) => (model, world) => {
    const from = a % (model.blocks.length + 1);
    const run = model.blocks.slice(from, from + (b % 10));
    const before = world.snapshot;
    apply(world, { kind: 'extend', blocks: asHot(run) });
    expect(world.snapshot).toBe(before);
  });

const broken: fc.Arbitrary<Step> = fc
  .tuple(gapsOf, fc.nat(), fc.constantFrom('parentSlot', 'parentHash', 'height'))
  .map(([gaps, seed, field]) => (model, world) => {
    const run = runAbove(world, tipOf(model), gaps);
    // The anchor's height is unknown, so the first block above it cannot have a wrong height.
    const at = field === 'height' && model.blocks.length === 0 ? 1 : seed % run.length;
    if (at >= run.length) return;
    const bad = { parentSlot: slot(3), parentHash: hash('other'), height: 1 };
    const blocks = run.map((header, i) => (i === at ? { ...header, [field]: bad[field] } : header));
    expectRejected(world, { kind: 'extend', blocks: asHot(blocks) });
  });

const seal: fc.Arbitrary<Step> = fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => (model, world) => {
  const available = model.finalizedCount - model.sealedCount;
  if (available === 0) return;
  const count = 1 + (a % available);
  const run = model.blocks.slice(model.sealedCount, model.sealedCount + count);
  const cut = 1 + (b % count);
  const parts = [run.slice(0, cut), run.slice(cut)].filter((part) => part.length > 0);
  const segments = parts.map((part) => sealRun(asHot(part)));
  for (const [i, { id }] of segments.entries()) world.files.set(id, parts[i] as BlockHeader[]);
  apply(world, { kind: 'seal', segments });
  model.sealedCount += count;
});

const trim: fc.Arbitrary<Step> = fc.nat().map((seed) => (model, world) => {
  if (model.finalizedCount === 0) return;
  const keepFrom = (model.blocks[seed % model.finalizedCount] as BlockHeader).number;
  apply(world, { kind: 'trim', keepFrom });
  // The model takes only the new start from the chain, because it does not know the segment boundaries. It computes
  // everything else itself.
  const start = world.snapshot.start as number;
  const dropped = model.blocks.filter(({ number }) => number < start);
  const last = dropped.at(-1);
  if (last === undefined) return;
  model.anchor = { number: last.number, hash: last.hash, height: last.height as number };
  model.blocks.splice(0, dropped.length);
  model.finalizedCount -= dropped.length;
  model.sealedCount = Math.max(0, model.sealedCount - dropped.length);
  expect(start).toBeLessThanOrEqual(keepFrom);
});

function mustBe(model: Model, { snapshot, files }: World): void {
  const sealedHeaders = snapshot.segments.flatMap(({ id }) => files.get(id) ?? []);
  const stored = [...sealedHeaders, ...snapshot.hot.map(({ header }) => header)];
  expect(stored).toEqual(model.blocks);
  expect(snapshot.anchor).toEqual({ number: model.anchor.number, hash: model.anchor.hash });
  expect(snapshot.start).toBe(model.anchor.number + 1);
  const [finalized] = refs(model.blocks.slice(0, model.finalizedCount)).slice(-1);
  expect(snapshot.finalized).toEqual(finalized ?? null);
  const [head] = refs(model.blocks).slice(-1);
  expect(snapshot.head).toEqual(head ?? null);
  expect([...snapshot.replaced.keys()]).toEqual(model.replaced);
}

async function mustAnswer(model: Model, { snapshot, files }: World, at: number): Promise<void> {
  const readHeaders = async (segment: SealedSegment) => files.get(segment.id) ?? [];
  const read = { readHeaders, readList: noLists };
  const { blocks, anchor } = model;
  const last = (tipOf(model).number ?? 0) + 3;
  const slot = anchor.number + 1 + (at % (last - anchor.number));
  const next = blocks.find(({ number }) => number >= slot);
  const lower = [anchor, ...blocks].filter(({ number }) => number < slot);
  expect(await findBlockAtOrAfter(snapshot, slot, read)).toEqual(next);
  expect(await findPreviousBlocks(snapshot, slot, read)).toEqual(
    lower.slice(-100).map(({ number, hash }) => ({ number, hash })),
  );
  const time = BigInt(1_600_000_000 + slot);
  expect(await findBlockAtTime(snapshot, time, read)).toEqual(next);
  for (const header of blocks) expect(isStillOnChain(snapshot, header)).toBe(true);
  for (const gone of model.replaced) expect(findReplacedSlot(snapshot, gone)).toBeDefined();
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: produce },
    { weight: 2, arbitrary: fork },
    { weight: 2, arbitrary: finalize },
    forkBelowFinality,
    lieAboutFinality,
    redeliver,
    broken,
    seal,
    trim,
  ),
  { maxLength: 40, size: 'max' },
);

test('property: I-02 any sequence of changes gives the same chain and lookups as a naive model', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
      async (run, asks) => {
        const anchor = { number: 1_000, hash: hash('anchor'), height: 900 };
        const model: Model = {
          anchor,
          blocks: [],
          finalizedCount: 0,
          sealedCount: 0,
          replaced: [],
        };
        const world: World = { snapshot: emptySnapshot, files: new Map(), branchCount: 0 };
        apply(world, { kind: 'create', anchor: { number: slot(1_000), hash: hash('anchor') } });
        for (const step of run) {
          const before = world.snapshot;
          step(model, world);
          mustBe(model, world);
          expect(world.snapshot.version).toBe(before.version + (world.snapshot === before ? 0 : 1));
        }
        for (const ask of asks) await mustAnswer(model, world, ask);
      },
    ),
    { numRuns: 300 },
  );
});
