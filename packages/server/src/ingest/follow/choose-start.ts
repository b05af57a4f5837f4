import { unreachable } from '@sluice/base/assert';
import type { BlockHeader } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import { listSlotsMax } from '@sluice/source/source';
import type { Anchor } from '../../chain/chain-snapshot.ts';
import type { FollowedSource } from './followed-source.ts';

/** The configured start of a new dataset. */
export type StartPoint =
  | { readonly kind: 'genesis' }
  /** The first block that the source has. */
  | { readonly kind: 'earliest' }
  | { readonly kind: 'latest' }
  /** The first block at or after a slot. */
  | { readonly kind: 'slot'; readonly slot: Slot };

export type StartChoice =
  /** `first` is the first block, or null if the ledger is stored from its beginning. */
  | {
      readonly kind: 'chosen';
      readonly anchor: Anchor | null;
      readonly first: BlockHeader | null;
    }
  /** The ledger has no finalized block yet, or the source did not respond. */
  | { readonly kind: 'later' }
  /** The source no longer has the block. */
  | { readonly kind: 'pruned'; readonly firstAvailable: Slot }
  /** The ledger has not reached the slot yet. */
  | { readonly kind: 'ahead'; readonly finalized: Slot };

/** Chooses the anchor of a new dataset. Only finalized blocks count, because a fork could remove the first block otherwise. */
export async function chooseStart(
  start: StartPoint,
  source: FollowedSource,
  signal: AbortSignal,
): Promise<StartChoice> {
  const { remote } = source;
  const finalized = source.note(await remote.slot('finalized', signal));
  if (finalized.kind === 'refused') return later;
  const available = source.note(await remote.firstAvailable(signal));
  if (available.kind === 'refused') return later;
  const first = firstWanted(start, { finalized: finalized.value, available: available.value });
  if (available.value > first) return { kind: 'pruned', firstAvailable: available.value };
  if (first === 0) return { kind: 'chosen', anchor: null, first: null };
  const range = { first, last: Math.min(finalized.value, first + listSlotsMax - 1) };
  if (range.last < range.first) return { kind: 'ahead', finalized: finalized.value };
  const list = source.note(await remote.listSlots(range, 'finalized', signal));
  const slot = list.kind === 'ok' ? list.value[0] : undefined;
  if (slot === undefined) return later;
  const header = source.note(await remote.header(slot, 'finalized', signal));
  if (header.kind === 'refused') return later;
  const { parentSlot, parentHash } = header.value;
  const anchor = { number: parentSlot, hash: parentHash };
  return { kind: 'chosen', anchor, first: header.value };
}

function firstWanted(
  start: StartPoint,
  { finalized, available }: { readonly finalized: Slot; readonly available: Slot },
): number {
  switch (start.kind) {
    case 'genesis':
      return 0;
    case 'earliest':
      return available;
    case 'latest':
      return finalized;
    case 'slot':
      return start.slot;
    default:
      return unreachable(start);
  }
}

const later: StartChoice = { kind: 'later' };
