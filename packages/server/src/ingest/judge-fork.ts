/**
 * Whether to leave the stored branch for another one that a source shows. With one source configured its word is all there
 * is; with several, time is no vote and one voice changes nothing.
 */
import type { Clock } from '../base/clock.ts';
import { settleWithin } from '../base/settle-within.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { FollowedSource } from './followed-source.ts';

export interface Claim {
  readonly claimant: FollowedSource;
  /** The branch, ascending, above an own block. */
  readonly headers: readonly BlockHeader[];
  readonly headSlot: number;
  /** How long nobody has extended the stored branch. */
  readonly quietMs: number;
  /** Whether the claimant said the same before, with a lower tip. */
  readonly isRepeated: boolean;
}

export interface Opinion {
  readonly source: FollowedSource;
  readonly view: 'holds' | 'differs' | 'unknown';
}

export type Verdict = 'switch' | 'keep' | 'wait';

/** On a tie the branch that grows wins, once the other stood still for so long. */
const tieQuietMs = 2_000;
/** Who has not answered by then has no opinion. */
const opinionMsMax = 1_000;

/** What each source has at the first slot where the branch differs from ours. */
export async function askOpinions(
  claim: Claim,
  sources: readonly FollowedSource[],
  modules: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Opinion[]> {
  const contested = claim.headers[0] as BlockHeader;
  const others = sources.filter((one) => one !== claim.claimant && one.health.isHealthy);
  const { clock, signal } = modules;
  const opinions = await settleWithin(
    others.map(async (source): Promise<Opinion> => {
      const answer = source.note(await source.node.header(contested.number, 'confirmed', signal));
      if (answer.kind === 'ok') {
        return { source, view: answer.value.hash === contested.hash ? 'holds' : 'differs' };
      }
      // Only one whose own tip is past the slot has an opinion on it: it has nothing there.
      const isPast = source.confirmedSlot > contested.number && answer.reason !== 'outage';
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
  const tip = claim.headers.at(-1) as BlockHeader;
  const isTie = holders * 2 === voters.length;
  if (!isTie) return 'keep';
  return claim.quietMs >= tieQuietMs && tip.number > claim.headSlot ? 'switch' : 'wait';
}
