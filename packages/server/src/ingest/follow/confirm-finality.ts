/** Decides what is final if there are several sources. A reported slot proves nothing; a hash that most sources report does. */
import type { Clock } from '@sluice/base/clock';
import { settleWithin } from '@sluice/base/settle-within';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { FollowedSource } from './followed-source.ts';

/** A source that does not respond within this time does not count in this round. */
export const responseMsMax = 700;

/** Returns the highest finalized slot that more than half of the healthy sources have reached; -1 when no slot qualifies. */
export function agreedFinalSlot(sources: readonly FollowedSource[]): number {
  const slots = sources
    .filter(({ health }) => health.isHealthy)
    .map(({ finalizedSlot }) => finalizedSlot)
    .sort((a, b) => b - a);
  return slots[Math.floor(slots.length / 2)] ?? -1;
}

interface Asking {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Returns whether more sources have this block as final than another one. */
export function isConfirmedFinal(
  block: BlockRef,
  sources: readonly FollowedSource[],
  asking: Asking,
): Promise<boolean> {
  const reaching = sources.filter(({ finalizedSlot }) => finalizedSlot >= block.number);
  return hasMajority(block.number, ({ hash }) => hash === block.hash, reaching, asking);
}

/** Returns whether more sources have this block with this parent as final than another one. */
export function isConfirmedStart(
  block: BlockHeader,
  sources: readonly FollowedSource[],
  asking: Asking,
): Promise<boolean> {
  const isSame = ({ hash, parentSlot, parentHash }: BlockHeader) =>
    hash === block.hash && parentSlot === block.parentSlot && parentHash === block.parentHash;
  return hasMajority(block.number, isSame, sources, asking);
}

async function hasMajority(
  slot: Slot,
  isSame: (header: BlockHeader) => boolean,
  sources: readonly FollowedSource[],
  { clock, signal }: Asking,
): Promise<boolean> {
  const responses = await settleWithin(
    sources
      .filter(({ health }) => health.isHealthy)
      .map(({ remote }) => remote.header(slot, 'finalized', signal)),
    responseMsMax,
    clock,
  );
  let agreeing = 0;
  let differing = 0;
  for (const response of responses) {
    if (response?.kind === 'ok' && isSame(response.value)) agreeing++;
    else if (response?.kind === 'ok' || response?.reason === 'skipped-hint') differing++;
  }
  return agreeing > differing;
}
