import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChainBlock } from '../chain/chain-block.ts';
import type { SimulatedTime } from '../chain/simulated-time.ts';
import type { Faults } from '../faults/faults.ts';
import type { NodeState, NodeView } from './node-view.ts';

/** After a larger change of the time, subscribers are only notified of the last slots, as after an outage. */
const catchUpSlotsMax = 1_024;

/** A block that was processed since the previous state. */
export interface ProcessedSlot {
  readonly slot: number;
  readonly parent: number;
  readonly root: number;
}

export interface NotifierDependencies {
  readonly view: NodeView;
  readonly time: SimulatedTime;
  readonly faults: Faults;
  /** Called after each change of the state. */
  readonly onProcessed: (slots: readonly ProcessedSlot[], state: NodeState) => void;
}

/** Follows the changes of the node's state and reports newly processed blocks until the signal aborts. */
export async function notifyChanges(
  { slotMs }: { readonly slotMs: number },
  { view, time, faults, onProcessed }: NotifierDependencies,
  signal: AbortSignal,
): Promise<void> {
  const stopListening = faults.onChange(() => time.nudge());
  let atMs = time.nowMs();
  let state = view.stateAt(atMs);
  while (!signal.aborted) {
    const changeMs = view.nextChangeMs(atMs);
    if (changeMs > time.nowMs()) await time.waitUntil(changeMs, signal);
    else await nextTurn();
    const nowMs = time.nowMs();
    const oldestMs = nowMs - catchUpSlotsMax * slotMs;
    atMs = Math.max(Math.min(changeMs, nowMs), oldestMs, atMs);
    const next = view.stateAt(atMs);
    if (!signal.aborted) onProcessed(listProcessed(state, next), next);
    state = next;
  }
  stopListening();
}

function listProcessed(before: NodeState, after: NodeState): ProcessedSlot[] {
  const slots: ProcessedSlot[] = [];
  let block: ChainBlock | undefined = after.processedBranch.blockAt(after.processedSlot);
  while (block !== undefined && block.slot > before.processedSlot) {
    const { slot, parentSlot } = block;
    slots.push({ slot, parent: parentSlot, root: after.finalizedSlot });
    block = block.parent();
  }
  return slots.reverse();
}
