import { type Branch, type BranchShape, SideBranch } from '../chain/branch.ts';
import type { ChainState, SimulatedChain } from '../chain/chain.ts';
import type { SimulatedTime } from '../chain/simulated-time.ts';
import { type Fault, type Faults, numberOf } from '../faults/faults.ts';

/** The state of one node at one instant: the state of the shared chain, with the lag and the faults of the node. */
export interface NodeState extends ChainState {
  readonly firstAvailableSlot: number;
}

// The chain numbers the branches of its own forks by slot. The branches that faults cause have larger numbers.
const faultBranchFirst = 2 ** 41;
const faultBranchHighEnd = 2 ** 20;

export class NodeView {
  readonly #ownLagSlots: number;
  readonly #chain: SimulatedChain;
  readonly #time: SimulatedTime;
  readonly #faults: Faults;

  constructor(
    options: { lagSlots: number },
    dependencies: { chain: SimulatedChain; time: SimulatedTime; faults: Faults },
  ) {
    this.#ownLagSlots = options.lagSlots;
    this.#chain = dependencies.chain;
    this.#time = dependencies.time;
    this.#faults = dependencies.faults;
  }

  /** How many slots this node is behind the ledger. */
  get lagSlots(): number {
    const fault = this.#faults.find('lag');
    return this.#ownLagSlots + (fault === undefined ? 0 : numberOf(fault, 'bySlots'));
  }

  stateAt(ms = this.#time.nowMs()): NodeState {
    const seenMs = Math.max(0, ms - this.#lagMs);
    const state = this.#applyFinalityFaults(
      this.#applyForkFaults(this.#chain.stateAt(seenMs), seenMs),
    );
    return { ...state, firstAvailableSlot: this.#firstAvailable(state.confirmedSlot) };
  }

  /** Returns the next instant at which `stateAt` may change, as long as no fault is set or cleared. */
  nextChangeMs(ms: number): number {
    const seenMs = Math.max(0, ms - this.#lagMs);
    let next = this.#chain.nextChangeMs(seenMs) + this.#lagMs;
    for (const fork of this.#forksAt(ms)) next = Math.min(next, this.#forkEndMs(fork));
    return next;
  }

  get #lagMs(): number {
    return this.lagSlots * this.#chain.options.slotMs;
  }

  #applyForkFaults(state: ChainState, ms: number): ChainState {
    const below = this.#faults.find('fork-below-finality');
    if (below !== undefined) return this.#follow(state, ms, this.#branchBelowFinality(below));
    const forks = this.#forksAt(ms + this.#lagMs).map((fork) => this.#forkBranch(fork));
    // A fork that is hidden by a newer one or by a storm may become visible again, so finality stays below all of them.
    const limit = Math.min(state.finalizedSlot, ...forks.map(({ ancestor }) => ancestor));
    const waiting = { ...state, finalizedSlot: limit };
    const storm = this.#faults.find('fork-storm');
    const branch = storm === undefined ? forks.at(-1) : this.#stormBranch(storm, waiting, ms);
    return branch === undefined ? waiting : this.#follow(waiting, ms, branch);
  }

  /** Returns the active faults that replace the last blocks for some slots, oldest first. */
  #forksAt(ms: number): Fault[] {
    const isFork = ({ kind }: Fault) => kind === 'fork' || kind === 'fork-lower';
    return this.#faults.list().filter((fault) => isFork(fault) && ms < this.#forkEndMs(fault));
  }

  #follow(state: ChainState, ms: number, branch: Branch): ChainState {
    const processed = Math.floor(ms / this.#chain.options.slotMs);
    return {
      ...state,
      branch,
      processedBranch: branch,
      processedSlot: branch.previousBlock(processed),
      confirmedSlot: branch.previousBlock(this.#chain.confirmedIndex(ms)),
    };
  }

  #branchBelowFinality(fault: Fault): Branch {
    const { finalizedSlot } = this.#chain.stateAt(this.#seenSinceMs(fault));
    const ancestor = this.#blocksBelow(finalizedSlot, numberOf(fault, 'depth'), 0);
    return this.#openBranch(fault, { ancestor });
  }

  /**
   * Opens the branch of a fault. Its number follows from the fault and from the shape, so that branches with different ancestors never share
   * a block: neither those of two nodes, nor those of a node whose lag has changed.
   */
  #openBranch(fault: Fault, shape: Omit<BranchShape, 'branch'>, reached = 0): SideBranch {
    const { ancestor, gap = { first: 0, last: 0 } } = shape;
    const labels = ['branch', fault.id, reached, ancestor, gap.first, gap.last];
    const random = this.#chain.random.fork(...labels);
    const number = random.below(faultBranchHighEnd) * 2 ** 32 + random.uint32();
    return new SideBranch(this.#chain, { ...shape, branch: faultBranchFirst + number });
  }

  #stormBranch(fault: Fault, state: ChainState, ms: number): Branch {
    const reached = this.#chain.confirmedIndex(ms);
    const random = this.#chain.random.fork('storm', fault.id, reached);
    const depth = 1 + random.below(numberOf(fault, 'depth'));
    const head = this.#chain.previousBlock(reached);
    const ancestor = this.#blocksBelow(head, depth, state.finalizedSlot);
    return this.#openBranch(fault, { ancestor }, reached);
  }

  #forkBranch(fault: Fault): SideBranch {
    const sinceMs = this.#seenSinceMs(fault);
    const { finalizedSlot } = this.#chain.stateAt(sinceMs);
    const reached = this.#chain.confirmedIndex(sinceMs);
    const head = this.#chain.previousBlock(reached);
    const ancestor = this.#blocksBelow(head, numberOf(fault, 'depth'), finalizedSlot);
    if (fault.kind === 'fork') return this.#openBranch(fault, { ancestor });
    const lowerBy = numberOf(fault, 'lowerBy');
    const first = Math.max(this.#blocksBelow(head, lowerBy, ancestor), ancestor) + 1;
    // The gap extends beyond the head, so that the head stays lower for `lowerBy` slots and a poll can see it.
    const gap = { first, last: reached + lowerBy };
    return this.#openBranch(fault, { ancestor, gap });
  }

  #forkEndMs(fault: Fault): number {
    return fault.sinceMs + numberOf(fault, 'forSlots') * this.#chain.options.slotMs;
  }

  #seenSinceMs(fault: Fault): number {
    return Math.max(0, fault.sinceMs - this.#lagMs);
  }

  /** Returns the block `count` blocks below, but not below the floor. */
  #blocksBelow(slot: number, count: number, floor: number): number {
    let at = slot;
    for (let left = count; left > 0 && at > floor && at > 0; left--) {
      at = this.#chain.previousBlock(at - 1);
    }
    return at;
  }

  #applyFinalityFaults(state: ChainState): ChainState {
    const stall = this.#faults.find('finality-stall');
    const regress = this.#faults.find('finality-regress');
    const ahead = this.#faults.find('finality-ahead');
    let slot: number = state.finalizedSlot;
    if (stall !== undefined) {
      slot = Math.min(slot, this.#chain.stateAt(this.#seenSinceMs(stall)).finalizedSlot);
    }
    if (regress !== undefined) slot = Math.max(0, slot - numberOf(regress, 'bySlots'));
    if (ahead !== undefined) {
      return { ...state, finalizedSlot: state.confirmedSlot + numberOf(ahead, 'bySlots') };
    }
    return { ...state, finalizedSlot: state.branch.previousBlock(slot) };
  }

  #firstAvailable(head: number): number {
    const kept = Math.max(0, head - this.#chain.options.historySlots);
    const pruned = this.#faults.find('prune');
    const floor = pruned === undefined ? kept : Math.max(kept, numberOf(pruned, 'belowSlot'));
    return this.#chain.nextBlock(floor);
  }
}
