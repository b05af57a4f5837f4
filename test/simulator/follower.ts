import type { ChainBlock } from '@sluice/simulator/chain/chain-block';
import type { BlockGenerator } from '@sluice/simulator/content/generate-block';
import type { NodeState } from '@sluice/simulator/node/node-view';
import { expect } from 'vitest';
import { expectedBlock } from '../../packages/simulator/src/content/testing/expected-block.ts';
import { LawChecker } from './check-laws.ts';

/** Applies the confirmed blocks of a node, rolls back when the node changes to another branch, and checks the laws. */
export class Follower {
  readonly checker = new LawChecker();
  readonly applied: ChainBlock[] = [];
  readonly branches = new Set<number>();
  rolledBackCount = 0;
  /** The number of branches that left the final chain before the last block of a window and continued in the next window. */
  lateCount = 0;
  #generator: BlockGenerator;
  readonly #startSlot: number;

  constructor(generator: BlockGenerator, startSlot: number) {
    this.#generator = generator;
    this.#startSlot = startSlot;
  }

  /** Continues with the blocks of another generator, as after a restart of the node. */
  restart(generator: BlockGenerator): void {
    this.#generator = generator;
  }

  see({ branch, confirmedSlot }: Pick<NodeState, 'branch' | 'confirmedSlot'>): void {
    const news: ChainBlock[] = [];
    let block = branch.blockAt(confirmedSlot);
    let sharedCount = 0;
    while (block !== undefined && block.slot >= this.#startSlot) {
      const { blockhash } = block;
      sharedCount = this.applied.findLastIndex((block) => block.blockhash === blockhash) + 1;
      if (sharedCount > 0) break;
      news.push(block);
      block = block.parent();
    }
    this.rolledBackCount += this.applied.splice(sharedCount).length;
    this.checker.rollBackTo(this.applied.at(-1)?.slot ?? this.#startSlot - 1);
    for (const block of news.reverse()) this.#apply(block);
    expect(this.checker.broken).toEqual([]);
  }

  #apply(block: ChainBlock): void {
    this.checker.apply(expectedBlock(this.#generator.generate(block), { votes: 'keep' }));
    this.applied.push(block);
    this.branches.add(block.branch);
    const windowOf = (slot: number) => Math.floor(slot / this.#generator.windowSlots);
    const before = windowOf(block.parentSlot);
    if (before === windowOf(block.slot)) return;
    if (windowOf(block.parent()?.nextSlot() ?? 0) === before) this.lateCount++;
  }
}
