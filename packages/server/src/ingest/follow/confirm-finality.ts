/** Decides what is final if there are several sources. A reported slot proves nothing; a hash that most sources report does. */
import type { Clock } from '@sluice/base/clock';
import { settleWithin } from '@sluice/base/settle-within';
import type { BlockRef } from '@sluice/ledger/block';
import type { FollowedSource } from './followed-source.ts';

/** A source that does not answer within this time does not count in this round. */
export const answerMsMax = 700;

/** Returns the highest finalized slot that more than half of the healthy sources have reached; -1 when no slot qualifies. */
export function agreedFinalSlot(sources: readonly FollowedSource[]): number {
  const slots = sources
    .filter(({ health }) => health.isHealthy)
    .map(({ finalizedSlot }) => finalizedSlot)
    .sort((a, b) => b - a);
  return slots[Math.floor(slots.length / 2)] ?? -1;
}

/** Returns whether more sources have this block as final than another one. */
export async function isConfirmedFinal(
  block: BlockRef,
  sources: readonly FollowedSource[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<boolean> {
  const consulted = sources.filter(
    ({ health, finalizedSlot }) => health.isHealthy && finalizedSlot >= block.number,
  );
  const answers = await settleWithin(
    consulted.map(({ remote }) => remote.header(block.number, 'finalized', signal)),
    answerMsMax,
    clock,
  );
  let agreeing = 0;
  let differing = 0;
  for (const answer of answers) {
    if (answer?.kind === 'ok' && answer.value.hash === block.hash) agreeing++;
    else if (answer?.kind === 'ok' || answer?.reason === 'skipped-hint') differing++;
  }
  return agreeing > differing;
}
