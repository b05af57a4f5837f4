import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChainBlock } from '../chain/chain-block.ts';
import { type FaultRequest, Faults } from '../faults/faults.ts';
import { createTestLedger } from '../testing/start-test-node.ts';
import { type NodeState, NodeView } from './node-view.ts';

function createView(options: Parameters<typeof createTestLedger>[0] = {}) {
  const { chain, time } = createTestLedger(options);
  const faults = new Faults({ random: chain.random, nowMs: () => time.nowMs() });
  const view = new NodeView({ lagSlots: 0 }, { chain, time, faults });
  return { chain, time, faults, view, slotMs: chain.options.slotMs };
}

function expectLinked({ branch, confirmedSlot }: NodeState, count: number): void {
  let block = branch.blockAt(confirmedSlot) as ChainBlock;
  for (let left = count; left > 0 && block.slot > 0; left--) {
    const parent = branch.blockAt(block.parentSlot) as ChainBlock;
    expect(block.previousBlockhash).toBe(parent.blockhash);
    expect(block.height).toBe(parent.height + 1);
    block = parent;
  }
}

const anyFork = fc.oneof(
  fc.record({
    kind: fc.constant('fork' as const),
    depth: fc.integer({ min: 1, max: 60 }),
    forSlots: fc.integer({ min: 1, max: 30 }),
  }),
  fc.record({
    kind: fc.constant('fork-lower' as const),
    depth: fc.integer({ min: 1, max: 40 }),
    lowerBy: fc.integer({ min: 1, max: 50 }),
    forSlots: fc.integer({ min: 1, max: 30 }),
  }),
  fc.record({ kind: fc.constant('fork-storm' as const), depth: fc.integer({ min: 1, max: 40 }) }),
);

interface Step {
  readonly fault?: FaultRequest;
  readonly slots: number;
}

/** Runs a script slot by slot. The finalized slot must never decrease, and final blocks must not change. */
function play(steps: readonly Step[], chain: { skipRate: number; forkRate: number }): void {
  const { faults, time, view, slotMs } = createView({ chain });
  const final = new Map<number, string>();
  const check = (state: NodeState) => {
    const { branch, finalizedSlot, confirmedSlot } = state;
    expectLinked(state, 6);
    expect(finalizedSlot).toBeGreaterThanOrEqual([...final.keys()].at(-1) ?? 0);
    expect(finalizedSlot).toBeLessThanOrEqual(confirmedSlot);
    final.set(finalizedSlot, (branch.blockAt(finalizedSlot) as ChainBlock).blockhash);
    for (const [slot, hash] of final) expect(branch.blockAt(slot)?.blockhash).toBe(hash);
  };
  for (const { fault, slots } of steps) {
    if (fault) faults.set(fault);
    else faults.clear({ kind: 'fork-storm' });
    for (let count = 0; count < slots; count++) {
      time.advance(slotMs);
      check(view.stateAt());
    }
  }
}

describe('forks by fault', () => {
  test('property: with any forks, the chain is linked and nothing final changes', () => {
    const anyStep = fc.record(
      { fault: anyFork, slots: fc.integer({ min: 1, max: 12 }) },
      { requiredKeys: ['slots'] },
    );
    const script = fc.array(anyStep, { minLength: 1, maxLength: 6 });
    const anyRate = fc.constantFrom(0, 0.2);
    fc.assert(
      fc.property(script, anyRate, anyRate, (steps, skipRate, forkRate) =>
        play([...steps, { slots: 20 }], { skipRate, forkRate }),
      ),
      { numRuns: 30 },
    );
  });

  test('behavior: a second fork is shown after the first one has ended', () => {
    const { faults, time, view, slotMs } = createView();
    const tip = () => {
      const { branch, confirmedSlot } = view.stateAt();
      return branch.blockAt(confirmedSlot)?.branch;
    };
    const first = faults.set({ kind: 'fork', forSlots: 2 });
    expect(tip()).not.toBe(0);
    time.advance(2 * slotMs);
    expect(tip()).toBe(0);
    const second = faults.set({ kind: 'fork', forSlots: 2 });
    expect(tip()).not.toBe(0);
    expect(second.id).not.toBe(first.id);
  });

  test('behavior: branches of two nodes share blocks only if they have the same ancestor and skip the same slots', () => {
    const hashesOf = (fault: FaultRequest): (string | undefined)[] => {
      const { faults, view } = createView();
      faults.set(fault);
      const { branch, confirmedSlot } = view.stateAt();
      return Array.from({ length: 12 }, (_, i) => branch.blockAt(confirmedSlot - i)?.blockhash);
    };
    const final = new Set(hashesOf({ kind: 'lag', bySlots: 1 }));
    const own = (fault: FaultRequest) => hashesOf(fault).filter((hash) => !final.has(hash));
    const shallow = own({ kind: 'fork', depth: 3 });
    const deep = own({ kind: 'fork', depth: 5 });
    const lower = own({ kind: 'fork-lower', depth: 5 });
    expect(new Set([...shallow, ...deep, ...lower]).size).toBe(
      shallow.length + deep.length + lower.length,
    );
    expect(shallow.length).toBeGreaterThan(2);
    expect(own({ kind: 'fork', depth: 3, forSlots: 50 })).toEqual(shallow);
  });

  test('behavior: the end of a fork is reported as the next change', () => {
    const { faults, time, view, slotMs } = createView();
    const fault = faults.set({ kind: 'fork', forSlots: 1 });
    const endMs = fault.sinceMs + slotMs;
    let ms = time.nowMs();
    for (let count = 0; count < 10 && ms < endMs; count++) ms = view.nextChangeMs(ms);
    expect(ms).toBe(endMs);
  });

  test('behavior: a fork of a lagging node replaces the newest blocks that the node has reached', () => {
    const { faults, view } = createView();
    faults.set({ kind: 'lag', bySlots: 20 });
    faults.set({ kind: 'fork', depth: 2 });
    const state = view.stateAt();
    expect(state.confirmedSlot).toBe(980);
    expect(state.branch.blockAt(979)?.branch).not.toBe(0);
    expect(state.branch.blockAt(978)?.branch).toBe(0);
    expectLinked(state, 5);
  });
});
