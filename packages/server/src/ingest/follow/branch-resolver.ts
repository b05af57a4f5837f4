/**
 * Handles blocks of a source that are not children of our head: traces them to a block of ours, fills a gap, or switches to
 * the branch if the sources agree on it.
 */
import type { Clock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import { listSlotsMax } from '@sluice/source/source';
import type { IngestCounters } from '../ingest-counters.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import type { BlockLoader } from './block-loader.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import { agreedFinalSlot, isConfirmedFinal } from './confirm-finality.ts';
import type { FollowedSource } from './followed-source.ts';
import { askOpinions, type Claim, judgeFork } from './judge-fork.ts';
import { forkFloor, headSlot, ownsBlock } from './own-blocks.ts';
import type { SourceJudge } from './source-judge.ts';
import { type Trace, traceBranch } from './trace-branch.ts';

export interface ResolverDependencies {
  readonly source: FollowedSource;
  readonly feeder: ChainFeeder;
  readonly loader: BlockLoader;
  readonly counters: IngestCounters;
  readonly clock: Clock;
  readonly judge: SourceJudge;
  /** All sources that are not disabled, this one included. */
  readonly sources: () => readonly FollowedSource[];
  /** Called after each branch that was stored. */
  readonly onGrown: () => void;
}

/** A longer gap is filled in several steps. */
export const gapBlocksMax = 32;
/** How often the source is asked for our head. */
const headCheckEveryMs = 400;
/** The interval of requests for the next block to a portal whose head is one block below ours. */
const lowerHeadCheckEveryMs = 1_000;

export class BranchResolver {
  readonly #dependencies: ResolverDependencies;
  #headCheckedMs = Number.NEGATIVE_INFINITY;
  /** The first block and the tip of the branch that the source showed last. */
  #lastClaim: { readonly hash: string; readonly tip: number } | undefined;

  constructor(dependencies: ResolverDependencies) {
    this.#dependencies = dependencies;
  }

  /** Forgets the last branch, because the chain has grown. */
  reset(): void {
    this.#lastClaim = undefined;
  }

  /** Checks that the source still has our head, which is the only way to notice a branch with a lower tip. */
  async checkHead(signal: AbortSignal): Promise<boolean> {
    const { source, feeder, clock, judge } = this.#dependencies;
    const { head } = feeder.pending;
    if (head === null || clock.nowMs() - this.#headCheckedMs < headCheckEveryMs) return false;
    this.#headCheckedMs = clock.nowMs();
    const response = source.note(await source.remote.header(head.number, 'confirmed', signal));
    if (response.kind === 'ok') {
      if (response.value.hash !== head.hash) return this.resolve(response.value, signal);
      judge.noteAgreement();
      return false;
    }
    if (response.reason !== 'not-available' && response.reason !== 'skipped-hint') return false;
    // Many skipped slots may be between our head and the newest block of the source.
    const first = Math.max(forkFloor(feeder.pending), head.number - listSlotsMax + 1, 0);
    const range = { first, last: head.number };
    const list = source.note(await source.remote.listSlots(range, 'confirmed', signal));
    const tip = list.kind === 'ok' ? list.value.at(-1) : undefined;
    if (tip === undefined) return false;
    const header = source.note(await source.remote.header(tip, 'confirmed', signal));
    return header.kind === 'ok' ? this.resolve(header.value, signal) : false;
  }

  /** Follows the branch of a portal that reported these blocks in place of our head. */
  async resolveConflict(blocks: readonly BlockRef[], signal: AbortSignal): Promise<boolean> {
    const { source, feeder, clock } = this.#dependencies;
    const tip = elementAt(blocks, -1);
    if (ownsBlock(feeder.pending, tip.number, tip.hash)) {
      // The portal went back to a block of ours and has no new block above it yet.
      await clock.sleep(lowerHeadCheckEveryMs, signal);
      return false;
    }
    const header = source.note(await source.remote.header(tip.number, 'confirmed', signal));
    return header.kind === 'ok' ? this.resolve(header.value, signal) : false;
  }

  /** Traces a block that is not a child of our head, and stores its branch if it is chosen. Returns whether it was stored. */
  async resolve(tip: BlockHeader, signal: AbortSignal): Promise<boolean> {
    const { source, feeder, judge } = this.#dependencies;
    const snapshot = feeder.pending;
    const trace = await traceBranch(source, tip, snapshot, signal);
    if (trace.kind === 'linked') return this.#takeBranch(trace, signal);
    if (trace.kind === 'failed') source.note(trace.refusal);
    if (trace.kind === 'hole') judge.noteHole(trace.slot);
    // A fork of the source or of our chain during the trace makes a branch look broken.
    if (feeder.pending !== snapshot) return false;
    if (trace.kind === 'below-finality') {
      const fault = `its branch leaves the chain below the finalized head, at slot ${trace.slot}`;
      return judge.strikeForFinality(fault);
    }
    if (trace.kind === 'unlinked' || trace.kind === 'too-long') {
      const fault = `its block at slot ${tip.number} does not link to its blocks below`;
      return judge.strike('source-unlinked', fault);
    }
    return false;
  }

  async #takeBranch(
    { ancestor, headers }: Extract<Trace, { kind: 'linked' }>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { source, feeder, judge, counters, onGrown } = this.#dependencies;
    const { head } = feeder.pending;
    const isGap = head === null || head.hash === ancestor.hash;
    const branch = isGap ? headers.slice(0, gapBlocksMax) : headers;
    if (!isGap && !(await this.#isChosen(headers, signal))) return false;
    if (!(await judge.isAgreed(elementAt(branch, -1), signal))) return false;
    const loaded = await this.#load(branch, signal);
    if (loaded === undefined || !ownsBlock(feeder.pending, ancestor.number, ancestor.hash))
      return false;
    const outcome = await feeder.replace(ancestor, loaded, signal);
    if (outcome.kind === 'refused') {
      return judge.rejectCommit(elementAt(loaded, -1), outcome.error);
    }
    for (const { counts } of loaded) counters.countBlock(counts);
    onGrown();
    source.health.responded();
    return true;
  }

  /** Returns whether to switch to a branch. A single source decides alone; several sources vote. */
  async #isChosen(headers: readonly BlockHeader[], signal: AbortSignal): Promise<boolean> {
    const { source, sources, feeder, clock, judge } = this.#dependencies;
    const all = sources();
    if (all.length === 1) return true;
    const [first, tip] = [elementAt(headers, 0), elementAt(headers, -1)];
    const before = this.#lastClaim;
    const claim: Claim = {
      claimant: source,
      headers,
      headSlot: headSlot(feeder.pending),
      quietMs: clock.nowMs() - feeder.lastGrownMs,
      isRepeated: before !== undefined && before.hash === first.hash && tip.number > before.tip,
    };
    if (before?.hash !== first.hash) this.#lastClaim = { hash: first.hash, tip: tip.number };
    const verdict = judgeFork(claim, await askOpinions(claim, all, { clock, signal }));
    if (verdict !== 'switch' && (await this.#isFinal(headers, signal))) return true;
    if (verdict === 'keep') {
      const fault = `it alone shows another branch from slot ${first.number} on`;
      judge.strike('source-disagrees', fault);
    }
    return verdict === 'switch';
  }

  /** Returns whether the sources call a block of the branch final, so that the ledger itself has decided. */
  async #isFinal(headers: readonly BlockHeader[], signal: AbortSignal): Promise<boolean> {
    const { sources, clock } = this.#dependencies;
    const slot = agreedFinalSlot(sources());
    const newest = headers.findLast(({ number }) => number <= slot);
    return newest !== undefined && isConfirmedFinal(newest, sources(), { clock, signal });
  }

  /** Loads the blocks of a traced branch. Returns undefined if they are not the traced ones. */
  async #load(
    headers: readonly BlockHeader[],
    signal: AbortSignal,
  ): Promise<PreparedBlock[] | undefined> {
    const { source, loader, judge } = this.#dependencies;
    const branch: PreparedBlock[] = [];
    const slots = headers.map(({ number }) => number);
    for await (const loaded of loader.loadAll(source, slots, 'confirmed', signal)) {
      if (loaded.kind !== 'loaded') {
        judge.rejectLoad(loaded);
        return undefined;
      }
      const traced = elementAt(headers, branch.length);
      if (loaded.prepared.header.hash !== traced.hash) return undefined;
      branch.push(loaded.prepared);
    }
    return signal.aborted ? undefined : branch;
  }
}
