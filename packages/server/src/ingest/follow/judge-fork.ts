/** Decides whether to switch to another branch when there are several sources. One source alone cannot cause a switch. */
import type { Clock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import { settleWithin } from '@sluice/base/settle-within';
import type { BlockHeader } from '@sluice/ledger/block';
import type { FollowedSource } from './followed-source.ts';

export interface Claim {
  readonly claimant: FollowedSource;
  /** The branch above one of our blocks, ascending. */
  readonly headers: readonly BlockHeader[];
  readonly headSlot: number;
  /** The time since the last block was added to the stored branch. */
  readonly quietMs: number;
  /** Whether the claimant has reported the same branch before, with a lower tip. */
  readonly isRepeated: boolean;
}

export interface Opinion {
  readonly source: FollowedSource;
  readonly view: 'holds' | 'differs' | 'unknown';
}

export type Verdict = 'switch' | 'keep' | 'wait';

/** On a tie the growing branch wins after the stored one has not grown for this time. */
const tieQuietMs = 2_000;
/** A source that does not respond within this time has no vote. */
const opinionMsMax = 1_000;

/** Asks each source which block it has at the first slot of the branch. */
export async function askOpinions(
  claim: Claim,
  sources: readonly FollowedSource[],
  dependencies: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Opinion[]> {
  const contested = elementAt(claim.headers, 0);
  const others = sources.filter((source) => source !== claim.claimant && source.health.isHealthy);
  const { clock, signal } = dependencies;
  const opinions = await settleWithin(
    others.map(async (source): Promise<Opinion> => {
      const response = source.note(
        await source.remote.header(contested.number, 'confirmed', signal),
      );
      if (response.kind === 'ok') {
        return { source, view: response.value.hash === contested.hash ? 'holds' : 'differs' };
      }
      // A source without a block there votes against the branch only if its own tip is above the slot.
      const isPast = source.confirmedSlot > contested.number && response.reason !== 'outage';
      return { source, view: isPast ? 'differs' : 'unknown' };
    }),
    opinionMsMax,
    clock,
  );
  const given = opinions.filter((opinion) => opinion !== undefined);
  return [{ source: claim.claimant, view: 'holds' }, ...given];
}

export function judgeFork(claim: Claim, opinions: readonly Opinion[]): Verdict {
  const voters = opinions.filter(({ view }) => view !== 'unknown');
  const holders = voters.filter(({ view }) => view === 'holds').length;
  if (holders >= 2 && holders * 2 > voters.length) return 'switch';
  if (voters.length === 1) return claim.isRepeated ? 'switch' : 'wait';
  const tip = elementAt(claim.headers, -1);
  const isTie = holders * 2 === voters.length;
  if (!isTie) return 'keep';
  return claim.quietMs >= tieQuietMs && tip.number > claim.headSlot ? 'switch' : 'wait';
}
