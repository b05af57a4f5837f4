/** Checks the laws of the simulated ledger across the forks of the chain and of faults, and across restarts. */

import { systemClock } from '@sluice/base/clock';
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import type { ChainBlock } from '@sluice/simulator/chain/chain-block';
import { SimulatedTime } from '@sluice/simulator/chain/simulated-time';
import { type FaultRequest, Faults } from '@sluice/simulator/faults/faults';
import { NodeView } from '@sluice/simulator/node/node-view';
import { describe, expect, test } from 'vitest';
import { expectedBlock } from '../../packages/simulator/src/content/testing/expected-block.ts';
import { Follower } from './follower.ts';
import { generatorOf, isLong, longCount, SMALL } from './law-runs.ts';

/** The number of changes of the chain between two restarts. */
const RESTART_STEPS = 150;

/** Nodes of one ledger, each with its own faults, whose time is advanced by hand. */
function openViews(seed: number, startSlot: number, nodeCount: number) {
  const chain = new SimulatedChain({ seed, startSlot, forkRate: 0, skipRate: 0.05 });
  const { slotMs } = chain.options;
  const startMs = startSlot * slotMs;
  const time = new SimulatedTime({ startMs, speed: 1, paused: true }, { clock: systemClock });
  const nodes = Array.from({ length: nodeCount }, () => {
    const faults = new Faults({ random: chain.random, nowMs: () => time.nowMs() });
    return { faults, view: new NodeView({ lagSlots: 0 }, { chain, time, faults }) };
  });
  return { nodes, nextSlot: () => time.advance(slotMs) };
}

describe('laws of the simulated ledger on branches', () => {
  test('property: the laws hold across forks and restarts, and the final chain is the same as without them', () => {
    const options = { seed: 4, startSlot: 1900, forkRate: 0.3, forkDepthMax: 6, skipRate: 0.05 };
    const chain = new SimulatedChain(options);
    const generator = generatorOf(4, SMALL);
    const follower = new Follower(generator, options.startSlot);
    const { slotMs } = chain.options;
    const endMs = (options.startSlot + (isLong ? longCount / 10 : 400)) * slotMs;
    const restartedOn: number[] = [];
    let step = 0;
    for (let ms = options.startSlot * slotMs; ms < endMs; ms = chain.nextChangeMs(ms)) {
      const head = follower.applied.at(-1);
      // Restarts alternate between the final chain and a branch that is orphaned later.
      const isOrphan = restartedOn.length % 2 === 1;
      if (++step >= RESTART_STEPS && head !== undefined && head.branch > 0 === isOrphan) {
        step = 0;
        restartedOn.push(head.branch);
        follower.restart(generatorOf(4, SMALL));
      }
      follower.see(chain.stateAt(ms));
    }
    follower.checker.checkSums('the end');
    expect(follower.checker.broken).toEqual([]);
    expect(follower.rolledBackCount).toBeGreaterThan(50);
    expect(follower.branches.size).toBeGreaterThan(30);
    expect(restartedOn.filter((branch) => branch > 0).length).toBeGreaterThan(0);
    expect(restartedOn.filter((branch) => branch === 0).length).toBeGreaterThan(0);
    // A ledger without forks and restarts has the same block.
    const last = follower.applied.filter((block) => block.branch === 0).at(-1) as ChainBlock;
    const again = expectedBlock(generatorOf(4, SMALL).generate(last), { votes: 'keep' });
    expect(expectedBlock(generator.generate(last), { votes: 'keep' })).toEqual(again);
  });

  test.each([68, 92, 124])(
    'property: the laws hold on a fork that skips the last blocks of a window (seed %d)',
    (seed) => {
      // The seeds were searched: a fork leaves the final chain in one of the last slots of the window, and its first block is in the next one.
      const options = { seed, startSlot: 2030, forkRate: 0.3, forkDepthMax: 6, skipRate: 0.05 };
      const chain = new SimulatedChain(options);
      const follower = new Follower(generatorOf(seed, SMALL), options.startSlot);
      for (let slot = options.startSlot; slot < 2060; slot++) {
        follower.see(chain.stateAt((slot + 0.6) * chain.options.slotMs));
      }
      expect(follower.lateCount).toBe(1);
    },
  );

  test.each<[FaultRequest, number]>([
    [{ kind: 'fork', depth: 5, forSlots: 6 }, 20],
    [{ kind: 'fork-lower', depth: 6, lowerBy: 3, forSlots: 6 }, 20],
    [{ kind: 'fork-lower', depth: 3, lowerBy: 5, forSlots: 9 }, 10],
    [{ kind: 'fork-storm', depth: 8 }, 100],
    [{ kind: 'fork-below-finality', depth: 4 }, 30],
  ])('property: the laws hold across the fault %j', (fault, rolledBackMin) => {
    // The blocks cross the end of a window, where every branch restores the first state. A fault starts just before it, in slot 2046.
    const startSlot = 1995;
    const { nodes, nextSlot } = openViews(5, startSlot, 1);
    const [{ faults, view }] = nodes as [(typeof nodes)[0]];
    const follower = new Follower(generatorOf(5, SMALL), startSlot - 60);
    const slotCount = isLong ? longCount / 20 : 100;
    for (let slot = 0; slot < slotCount; slot++) {
      if (slot % 12 === 3) {
        faults.clear();
        faults.set(fault);
      }
      // A rollback from the branch below finality would cross finality, so the branch stays.
      if (slot % 12 === 11 && fault.kind !== 'fork-below-finality') faults.clear();
      follower.see(view.stateAt());
      nextSlot();
    }
    expect(follower.rolledBackCount).toBeGreaterThan(rolledBackMin);
    expect(follower.lateCount > 0).toBe(fault['lowerBy'] === 5);
    follower.checker.checkSums('the end');
    expect(follower.checker.broken).toEqual([]);
  });

  test('property: nodes on different branches of one ledger do not change the state of each other', () => {
    const startSlot = 1995;
    const { nodes, nextSlot } = openViews(9, startSlot, 3);
    const generator = generatorOf(9, SMALL);
    const followers = nodes.map(() => new Follower(generator, startSlot - 40));
    for (let slot = 0; slot < 90; slot++) {
      // Two of the three nodes stay on branches of their own.
      if (slot === 5) nodes[1]?.faults.set({ kind: 'fork', depth: 4, forSlots: 1000 });
      if (slot === 9) nodes[2]?.faults.set({ kind: 'fork', depth: 7, forSlots: 1000 });
      for (const [i, { view }] of nodes.entries()) followers[i]?.see(view.stateAt());
      nextSlot();
    }
    const hashes = followers.map(({ applied }) => applied.at(-1)?.blockhash);
    expect(new Set(hashes).size).toBe(3);
    for (const { checker, branches } of followers) {
      checker.checkSums('the end');
      expect(checker.broken).toEqual([]);
      expect(checker.counts.transactions).toBeGreaterThan(300);
      expect(branches.has(0)).toBe(true);
    }
  });
});
