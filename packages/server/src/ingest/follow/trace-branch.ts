/**
 * Finds how a block of a source is connected to our chain: reads its ancestors, several at a time, until one of them is one of
 * our blocks.
 *
 *   own:     … A ── b ── c          (head c)
 *   source:  … A ── x ── y ── tip   ─► ancestor A, branch x y tip
 */
import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { Refusal } from '@sluice/source/refusal';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { FollowedSource } from './followed-source.ts';
import { forkFloor, ownsBlock } from './own-blocks.ts';

export type Trace =
  /** Linked headers, ascending. The first one is a child of the ancestor. */
  | {
      readonly kind: 'linked';
      readonly ancestor: BlockRef;
      readonly headers: readonly BlockHeader[];
    }
  /** The block is ours. */
  | { readonly kind: 'known' }
  /** The source names a parent that it does not have. */
  | { readonly kind: 'hole'; readonly slot: Slot }
  /** The branch leaves our chain below the finalized head. */
  | { readonly kind: 'below-finality'; readonly slot: Slot }
  /** The block that the source has in the parent's slot is not the parent. */
  | { readonly kind: 'unlinked'; readonly slot: Slot }
  | { readonly kind: 'too-long' }
  | { readonly kind: 'failed'; readonly refusal: Refusal };

/** How many ancestors are read at a time. Forks are rarely deeper. */
const roundBlockCount = 32;
const roundSlotCount = 64;
/** The longest branch, which is kept in memory while it is loaded. A longer one means that the ledger does not finalize. */
const branchBlockCountMax = 4_096;

export async function traceBranch(
  source: FollowedSource,
  tip: BlockHeader,
  snapshot: ChainSnapshot,
  signal: AbortSignal,
): Promise<Trace> {
  if (ownsBlock(snapshot, tip.number, tip.hash)) return { kind: 'known' };
  const run = [tip];
  const floor = forkFloor(snapshot);
  while (run.length <= branchBlockCountMax) {
    const ended = endOfRun(run, snapshot, floor);
    if (ended !== undefined) return ended;
    const below = await readAncestors(source, elementAt(run, 0), floor, signal);
    if (!(below instanceof Map)) return below;
    for (let first = elementAt(run, 0); ; first = elementAt(run, 0)) {
      const parent = below.get(first.parentSlot);
      if (parent === undefined || endOfRun(run, snapshot, floor) !== undefined) break;
      if (parent.hash !== first.parentHash) return { kind: 'unlinked', slot: first.number };
      run.unshift(parent);
    }
  }
  return { kind: 'too-long' };
}

function endOfRun(
  run: readonly BlockHeader[],
  snapshot: ChainSnapshot,
  floor: number,
): Trace | undefined {
  const { number, parentSlot, parentHash } = elementAt(run, 0);
  if (parentHash === null) return { kind: 'unlinked', slot: number };
  if (ownsBlock(snapshot, parentSlot, parentHash)) {
    return { kind: 'linked', ancestor: { number: parentSlot, hash: parentHash }, headers: run };
  }
  return parentSlot <= floor ? { kind: 'below-finality', slot: number } : undefined;
}

/** Returns the headers of the parent and of the blocks below it, by slot. */
async function readAncestors(
  { remote }: FollowedSource,
  child: BlockHeader,
  floor: number,
  signal: AbortSignal,
): Promise<Map<number, BlockHeader> | Trace> {
  const last = child.parentSlot;
  const first = Math.max(floor, last - roundSlotCount, 0);
  if (remote.readHeaders !== undefined) {
    const result = await remote.readHeaders({ first, last }, 'confirmed', signal);
    if (result.kind === 'refused') return { kind: 'failed', refusal: result };
    const headers = new Map(result.value.map((header) => [header.number, header]));
    return headers.has(last) ? headers : { kind: 'hole', slot: last };
  }
  const list = await remote.listSlots({ first, last }, 'confirmed', signal);
  if (list.kind === 'refused') return { kind: 'failed', refusal: list };
  // The parent is requested even if it is not in the list, because lists of nodes can be incomplete.
  const slots = [...new Set([...list.value, last])].slice(-roundBlockCount);
  const results = await Promise.all(slots.map((slot) => remote.header(slot, 'confirmed', signal)));
  const headers = new Map<number, BlockHeader>();
  for (const result of results) {
    if (result.kind === 'ok') headers.set(result.value.number, result.value);
  }
  if (headers.has(last)) return headers;
  const denied = elementAt(results, -1);
  assert(denied.kind === 'refused', 'the parent is the last slot that is requested');
  const isDenied = denied.reason === 'skipped-hint' || denied.reason === 'not-available';
  return isDenied || denied.reason === 'pruned'
    ? { kind: 'hole', slot: last }
    : { kind: 'failed', refusal: denied };
}
