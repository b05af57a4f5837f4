/**
 * How a block that a source showed hangs together with ours: walks its ancestors down, many at a time, until one of them
 * is an own block.
 *
 *   own:     … A ── b ── c          (head c)
 *   source:  … A ── x ── y ── tip   ─► ancestor A, branch x y tip
 */
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { Refusal } from '../source/rpc-refusal.ts';
import type { FollowedSource } from './followed-source.ts';
import { forkFloor, ownsBlock } from './own-blocks.ts';

export type Trace =
  /** A linked run, ascending, whose first block is a child of the ancestor. */
  | {
      readonly kind: 'linked';
      readonly ancestor: BlockRef;
      readonly headers: readonly BlockHeader[];
    }
  /** The block is ours. */
  | { readonly kind: 'known' }
  /** The source names a parent that it does not have. */
  | { readonly kind: 'hole'; readonly slot: Slot }
  /** The branch leaves ours below what is final. */
  | { readonly kind: 'below-finality'; readonly slot: Slot }
  /** The source's block at the parent's slot is not the parent that was named. */
  | { readonly kind: 'unlinked'; readonly slot: Slot }
  | { readonly kind: 'too-long' }
  | { readonly kind: 'failed'; readonly refusal: Refusal };

/** One round asks for so many ancestors; forks are rarely deeper. */
const roundBlockCount = 32;
const roundSlotCount = 64;
/** A branch is held in memory while it is fetched. Finality stalled for this long is an outage of the ledger. */
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
    const below = await readAncestors(source, run[0] as BlockHeader, floor, signal);
    if (!(below instanceof Map)) return below;
    for (let first = run[0] as BlockHeader; ; first = run[0] as BlockHeader) {
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
  const { number, parentSlot, parentHash } = run[0] as BlockHeader;
  if (parentHash !== null && ownsBlock(snapshot, parentSlot, parentHash)) {
    return { kind: 'linked', ancestor: { number: parentSlot, hash: parentHash }, headers: run };
  }
  if (parentHash === null) return { kind: 'unlinked', slot: number };
  return parentSlot <= floor ? { kind: 'below-finality', slot: number } : undefined;
}

/** Headers of the parent and the blocks below it, by slot. */
async function readAncestors(
  { node }: FollowedSource,
  child: BlockHeader,
  floor: number,
  signal: AbortSignal,
): Promise<Map<number, BlockHeader> | Trace> {
  const last = child.parentSlot;
  const first = Math.max(floor, last - roundSlotCount, 0);
  const list = await node.listSlots({ first, last }, 'confirmed', signal);
  if (list.kind === 'refused') return { kind: 'failed', refusal: list };
  // The parent is asked for even if it is not listed: lists leave out what a node is not sure of.
  const slots = [...new Set([...list.value, last])].slice(-roundBlockCount);
  const answers = await Promise.all(slots.map((slot) => node.header(slot, 'confirmed', signal)));
  const headers = new Map<number, BlockHeader>();
  for (const answer of answers) {
    if (answer.kind === 'ok') headers.set(answer.value.number, answer.value);
  }
  if (headers.has(last)) return headers;
  const denied = answers.at(-1) as Refusal;
  const isDenied = denied.reason === 'skipped-hint' || denied.reason === 'not-available';
  return isDenied || denied.reason === 'pruned'
    ? { kind: 'hole', slot: last }
    : { kind: 'failed', refusal: denied };
}
