import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockHash, Slot } from '../ledger/primitives.ts';
import type { ChainBlock } from './chain-block.ts';
import type { Faults } from './faults.ts';
import type { NodeState, NodeView } from './node-view.ts';
import type { SimulatedTime } from './simulated-time.ts';

/** After a longer jump of time, subscribers hear of the last slots alone, as after an outage. */
const catchUpSlotsMax = 1_024;
/** How far back a replaced block is looked for; no fork that can be set is deeper. */
const forkBlocksMax = 2_048;

/** What changed between two states, in the order a node would say it. */
export interface Changes {
  readonly processed: readonly { slot: Slot; parent: Slot; root: Slot }[];
  readonly confirmed: readonly ChainBlock[];
  readonly finalized: readonly ChainBlock[];
}

/** Walks the node's time from one change to the next and tells what changed. */
export class Notifier {
  readonly #options: { readonly slotMs: number };
  readonly #view: NodeView;
  readonly #time: SimulatedTime;
  readonly #faults: Faults;
  readonly #onChange: (changes: Changes) => void;

  constructor(
    options: { slotMs: number },
    modules: {
      view: NodeView;
      time: SimulatedTime;
      faults: Faults;
      onChange: (changes: Changes) => void;
    },
  ) {
    this.#options = options;
    this.#view = modules.view;
    this.#time = modules.time;
    this.#faults = modules.faults;
    this.#onChange = modules.onChange;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stopListening = this.#faults.onChange(() => this.#time.nudge());
    let atMs = this.#time.nowMs();
    let state = this.#view.stateAt(atMs);
    while (!signal.aborted) {
      const changeMs = this.#view.nextChangeMs(atMs);
      if (changeMs > this.#time.nowMs()) await this.#time.waitUntil(changeMs, signal);
      else await nextTurn();
      const nowMs = this.#time.nowMs();
      const oldestMs = nowMs - catchUpSlotsMax * this.#options.slotMs;
      atMs = Math.max(Math.min(changeMs, nowMs), oldestMs, atMs);
      const next = this.#view.stateAt(atMs);
      if (!signal.aborted) this.#onChange(findChanges(state, next));
      state = next;
    }
    stopListening();
  }
}

function findChanges(before: NodeState, after: NodeState): Changes {
  const processed = blocksBetween(after.processedBranch, before.processedSlot, after.processedSlot);
  return {
    processed: processed.map(({ slot, parentSlot }) => ({
      slot,
      parent: parentSlot,
      root: after.finalizedSlot,
    })),
    confirmed: blocksBetween(after.branch, lastShared(before, after), after.confirmedSlot),
    finalized: blocksBetween(
      after.branch,
      before.finalizedSlot,
      Math.min(after.finalizedSlot, after.confirmedSlot),
    ),
  };
}

function blocksBetween(branch: NodeState['branch'], below: number, last: number): ChainBlock[] {
  const blocks: ChainBlock[] = [];
  for (let slot = last; slot > below; slot = (blocks.at(-1) as ChainBlock).parentSlot) {
    const block = branch.blockAt(slot);
    if (block === undefined || blocks.length >= forkBlocksMax) break;
    blocks.push(block);
    if (block.parentSlot >= slot) break;
  }
  return blocks.reverse();
}

/** The highest slot of the old chain whose block is also on the new one. */
function lastShared(before: NodeState, after: NodeState): number {
  let slot: number = Math.min(before.confirmedSlot, after.confirmedSlot);
  for (let count = 0; count < forkBlocksMax && slot > 0; count++) {
    const hash: BlockHash | undefined = before.branch.blockAt(slot)?.blockhash;
    if (hash !== undefined && hash === after.branch.blockAt(slot)?.blockhash) return slot;
    slot -= 1;
  }
  return slot;
}
