import { isCodedError } from '@sluice/base/errors';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SimulatedChain } from './chain.ts';
import type { ChainBlock } from './chain-block.ts';
import { ChainCell, cellSlots, type Fork } from './chain-cell.ts';
import type { ChainOptions } from './chain-options.ts';

const anyOptions = fc.record({
  seed: fc.nat(),
  startSlot: fc.constantFrom(0, 5, 16_380, 400_000_000),
  slotMs: fc.constantFrom(1, 40, 400, 1_000),
  skipRate: fc.constantFrom(0, 0.006, 0.2, 0.5),
  forkRate: fc.constantFrom(0, 0.05, 0.5, 1),
  forkDepthMax: fc.constantFrom(1, 4, 32),
  finalityDistance: fc.constantFrom(0, 3, 31),
});

/** Yields the state at every change within some slots. */
function* walk(chain: SimulatedChain, slotCount: number) {
  let ms = chain.processedAtMs(chain.options.startSlot);
  const endMs = ms + slotCount * chain.options.slotMs;
  while (ms < endMs) {
    yield { ms, state: chain.stateAt(ms) };
    const next = chain.nextChangeMs(ms);
    expect(next).toBeGreaterThan(ms);
    ms = next;
  }
}

function expectLinked(block: ChainBlock, parent: ChainBlock) {
  expect(block.parentSlot).toBe(parent.slot);
  expect(block.previousBlockhash).toBe(parent.blockhash);
  expect(block.height).toBe(parent.height + 1);
  expect(block.blockTime).toBeGreaterThanOrEqual(parent.blockTime);
}

describe('the final chain', () => {
  test('default: slot 0 is the first block, at height 0, with an unknown parent', () => {
    const chain = new SimulatedChain({ startSlot: 0, startSeconds: 1_000 });
    expect(chain.blockAt(0)).toMatchObject({
      slot: 0,
      parentSlot: 0,
      height: 0,
      blockTime: 1_000,
      previousBlockhash: '1'.repeat(32),
    });
  });

  test('behavior: block times follow the slot length from the start date', () => {
    const chain = new SimulatedChain({ skipRate: 0, startSlot: 10, startSeconds: 5_000 });
    expect([0, 9, 10, 12, 13, 1_010].map((slot) => chain.blockAt(slot)?.blockTime)).toEqual([
      4_996, 4_999, 5_000, 5_000, 5_001, 5_400,
    ]);
  });

  test('property: blocks link by slot, hash and height, also across cells', () => {
    fc.assert(
      fc.property(anyOptions, fc.nat(3), (options, cell) => {
        const chain = new SimulatedChain(options);
        const first = Math.max(0, cell * cellSlots - 100);
        let parent = chain.blockAt(chain.nextBlock(first)) as ChainBlock;
        for (let slot = parent.slot + 1; slot < first + 300; slot++) {
          const block = chain.blockAt(slot);
          expect(block !== undefined).toBe(chain.hasBlock(slot));
          if (block === undefined) continue;
          expectLinked(block, parent);
          expect(slot - parent.slot).toBeLessThanOrEqual(5);
          parent = block;
        }
      }),
      { numRuns: 20 },
    );
  });

  test('property: the same options give the same blocks in any order; another seed gives others', () => {
    fc.assert(
      fc.property(anyOptions, fc.array(fc.nat(100_000), { minLength: 1 }), (options, slots) => {
        const once = new SimulatedChain(options);
        const again = new SimulatedChain(options);
        const other = new SimulatedChain({ ...options, seed: options.seed + 1 });
        const forward = slots.map((slot) => once.blockAt(slot));
        const backward = slots.toReversed().map((slot) => again.blockAt(slot));
        expect(JSON.stringify(backward.toReversed())).toBe(JSON.stringify(forward));
        for (const block of forward) {
          if (block) expect(other.blockAt(block.slot)?.blockhash).not.toBe(block.blockhash);
        }
      }),
      { numRuns: 15 },
    );
  });

  test.each([0.001, 0.006, 0.1, 0.5])('property: about %d of all slots are skipped', (skipRate) => {
    const chain = new SimulatedChain({ skipRate, seed: 9 });
    const slots = 40 * cellSlots;
    const last = chain.previousBlock(slots);
    const skipped = last - chain.height(last);
    expect(skipped / slots).toBeGreaterThan(skipRate * 0.95);
    expect(skipped / slots).toBeLessThan(skipRate * 1.05);
    const counted = Array.from({ length: 2 * cellSlots }, (_, slot) => chain.hasBlock(slot));
    expect(counted.filter((has) => !has)).toHaveLength(
      2 * cellSlots - 1 - chain.height(2 * cellSlots - 1),
    );
  });

  test('behavior: runs of skipped slots have all lengths from one to four', () => {
    const chain = new SimulatedChain({ skipRate: 0.02 });
    const lengths = new Set<number>();
    for (let slot = 1; slot < 20_000; slot++) {
      if (chain.hasBlock(slot)) lengths.add(slot - chain.previousBlock(slot - 1) - 1);
    }
    expect([...lengths].sort()).toEqual([0, 1, 2, 3, 4]);
  });
});

/** Returns the forks that start at slots from `first` to `last`. */
function listForks({ options, random }: SimulatedChain, first: number, last: number): Fork[] {
  const cellCount = Math.ceil((last + 1) / cellSlots);
  const cells = Array.from({ length: cellCount }, (_, i) => new ChainCell(options, random, i));
  const forks = cells.flatMap((cell) => cell.forks);
  return forks.filter(({ ancestor }) => ancestor >= first && ancestor <= last);
}

describe('forks and finality', () => {
  test.each([1 / 20, 1 / 1_000])('property: about %d forks a slot', (forkRate) => {
    const chain = new SimulatedChain({ forkRate, seed: 3 });
    const slots = 20 * cellSlots;
    const forks = listForks(chain, 0, slots);
    expect(forks.length / slots).toBeGreaterThan(forkRate * 0.8);
    expect(forks.length / slots).toBeLessThan(forkRate * 1.15);
    const depths = forks.map((fork) => fork.slots.length);
    const share = (depth: number) => depths.filter((at) => at === depth).length / depths.length;
    expect(share(1)).toBeGreaterThan(0.5);
    expect(share(1)).toBeLessThan(0.7);
    expect(share(2)).toBeGreaterThan(0.15);
    expect(forks.some((fork) => fork.lowersHead)).toBe(true);
  });

  test('limit: no fork is deeper than forkDepthMax', () => {
    const chain = new SimulatedChain({ forkRate: 0.1, forkDepthMax: 2 });
    const depths = new Set(listForks(chain, 0, 10_000).map((fork) => fork.slots.length));
    expect([...depths].sort()).toEqual([1, 2]);
  });

  test('property: at every instant the confirmed chain is linked and ends at the confirmed slot', () => {
    fc.assert(
      fc.property(anyOptions, (options) => {
        const chain = new SimulatedChain(options);
        for (const { state } of walk(chain, 60)) {
          let block = state.branch.blockAt(state.confirmedSlot) as ChainBlock;
          expect(block.slot).toBe(state.confirmedSlot);
          expect(state.branch.previousBlock(state.confirmedSlot)).toBe(state.confirmedSlot);
          for (let count = 0; count < 5 && block.slot > 0; count++) {
            const parent = state.branch.blockAt(block.parentSlot) as ChainBlock;
            expectLinked(block, parent);
            block = parent;
          }
          expect(state.processedBranch.hasBlock(state.processedSlot)).toBe(true);
        }
      }),
      { numRuns: 12 },
    );
  });

  test('property: the finalized slot never decreases, never exceeds the head, and final blocks never change', () => {
    fc.assert(
      fc.property(anyOptions, (options) => {
        const chain = new SimulatedChain(options);
        let finalized = -1;
        for (const { state } of walk(chain, 150)) {
          expect(state.finalizedSlot).toBeGreaterThanOrEqual(finalized);
          expect(state.finalizedSlot).toBeLessThanOrEqual(state.confirmedSlot);
          finalized = state.finalizedSlot;
          const { blockhash } = chain.blockAt(finalized) as ChainBlock;
          expect(state.branch.blockAt(finalized)?.blockhash).toBe(blockhash);
          expect(chain.hasBlock(finalized)).toBe(true);
        }
      }),
      { numRuns: 12 },
    );
  });

  test('behavior: finality is about 31 slots behind and advances in steps of one to four', () => {
    const chain = new SimulatedChain({ skipRate: 0, forkRate: 0 });
    const steps = new Set<number>();
    let before = chain.stateAt(chain.processedAtMs(1_000)).finalizedSlot;
    for (const { state } of walk(chain, 500)) {
      const distance = state.confirmedSlot - state.finalizedSlot;
      expect(distance).toBeGreaterThanOrEqual(31);
      expect(distance).toBeLessThanOrEqual(34);
      if (state.finalizedSlot > before) steps.add(state.finalizedSlot - before);
      before = state.finalizedSlot;
    }
    expect([...steps].sort()).toEqual([1, 2, 3, 4]);
  });

  test('behavior: a slot is confirmed 50 to 190 ms after it was produced', () => {
    const chain = new SimulatedChain({ skipRate: 0, forkRate: 0 });
    const waits = Array.from(
      { length: 500 },
      (_, slot) => chain.confirmedAtMs(slot) - chain.processedAtMs(slot),
    );
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(50);
    expect(Math.min(...waits)).toBeLessThan(60);
    expect(Math.max(...waits)).toBeLessThanOrEqual(190);
    expect(Math.max(...waits)).toBeGreaterThan(180);
    const slot = 1_234;
    expect(chain.stateAt(chain.confirmedAtMs(slot) - 0.01).confirmedSlot).toBe(slot - 1);
    expect(chain.stateAt(chain.confirmedAtMs(slot)).confirmedSlot).toBe(slot);
    expect(chain.stateAt(chain.processedAtMs(slot)).processedSlot).toBe(slot);
  });

  test('behavior: the blocks of a fork are visible and then replaced, also by a branch with a lower head', () => {
    const chain = new SimulatedChain({ forkRate: 0.1, skipRate: 0.01, seed: 5 });
    const seen = { plain: 0, lowered: 0 };
    for (const fork of listForks(chain, 1_000, 3_000)) {
      const last = fork.slots.at(-1) as number;
      const during = chain.stateAt(chain.confirmedAtMs(last));
      expect(during.confirmedSlot).toBe(last);
      const lost = during.branch.blockAt(last) as ChainBlock;
      expect(lost.branch).toBe(fork.branch);
      const decided = chain.stateAt(chain.confirmedAtMs(fork.decidedBy));
      expect(decided.confirmedSlot).toBe(fork.decidedBy);
      expect(decided.branch.blockAt(last)?.blockhash).not.toBe(lost.blockhash);
      const changedMs = chain.nextChangeMs(chain.confirmedAtMs(last));
      const after = chain.stateAt(changedMs + 0.3 * 400);
      if (fork.lowersHead) {
        expect(after.confirmedSlot).toBeLessThan(last);
        expect(after.confirmedSlot).toBeGreaterThanOrEqual(fork.ancestor);
      }
      seen[fork.lowersHead ? 'lowered' : 'plain'] += 1;
    }
    expect(seen.plain).toBeGreaterThan(20);
    expect(seen.lowered).toBeGreaterThan(5);
  });
});

describe('options', () => {
  test.each<Partial<ChainOptions>>([
    { seed: -1 },
    { seed: 1.5 },
    { startSlot: -1 },
    { slotMs: 0 },
    { skipRate: 0.6 },
    { forkRate: 2 },
    { forkRate: Number.NaN },
    { forkDepthMax: 0 },
    { finalityDistance: -1 },
    { historySlots: 0 },
  ])('error: simulator-option-invalid for %o', (options) => {
    try {
      new SimulatedChain(options);
      expect.unreachable();
    } catch (error) {
      expect(isCodedError(error, 'simulator-option-invalid')).toBe(true);
      expect(String(error)).toContain(Object.keys(options)[0]);
    }
  });
});
