/**
 * Follows one source.
 *
 *   leading:    far behind    list finalized slots ─► load in parallel, in order ─► extend
 *               at the head   load head + 1, list confirmed slots ─► load ─► extend
 *               with a stream read blocks in order, history and head ─► extend
 *   witnessing: lists and headers only; takes the lead if the leader does not deliver
 *   both:       a block that does not link is a gap to fill or a branch to judge (branch-resolver.ts)
 */
import type { Clock } from '@sluice/base/clock';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import {
  type Commitment,
  canStream,
  listSlotsMax,
  type SourceIdentity,
  type StreamingSource,
} from '@sluice/source/source';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { AlarmBoard } from '../../dataset/alarm-board.ts';
import type { IngestCounters } from '../ingest-counters.ts';
import type { BlockLoader } from './block-loader.ts';
import { BranchResolver, gapBlocksMax } from './branch-resolver.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import type { FollowedSource } from './followed-source.ts';
import { HeadExtender } from './head-extender.ts';
import { headSlot } from './own-blocks.ts';
import { SourceJudge } from './source-judge.ts';
import type { TipAgreement } from './tip-agreement.ts';

export interface FollowerDependencies {
  readonly source: FollowedSource;
  readonly feeder: ChainFeeder;
  readonly loader: BlockLoader;
  readonly alarms: AlarmBoard;
  readonly counters: IngestCounters;
  readonly clock: Clock;
  /** All sources that are not disabled, this one included. */
  readonly sources: () => readonly FollowedSource[];
  readonly lead: LeadRole;
  readonly agreement: TipAgreement;
  /** Returns whether a source with this identity may be followed. Otherwise it is disabled. */
  readonly isFit: (identity: SourceIdentity) => boolean;
}

/** Decides which of several sources delivers the content of blocks. */
export interface LeadRole {
  isHeldBy(source: FollowedSource): boolean;
  take(source: FollowedSource): void;
}

/** Blocks are loaded as history if the head is more than this many slots below the finalized slot of the source. */
const historySlotsMin = 5;
/** The range of one list of history. */
const catchUpSlots = 2_000;
/** The smallest range of one list at the head. */
const windowSlots = 64;
/** Another source that is polled takes the lead after the leader has not delivered an available block for this time. */
const leaderGraceMs = 200;
/** The same if the leader is a healthy stream. A large block is still being received while a node already returns it. */
const streamGraceMs = 2_000;

export class SourceFollower {
  readonly #dependencies: FollowerDependencies;
  readonly #judge: SourceJudge;
  readonly #branches: BranchResolver;
  readonly #extender: HeadExtender;
  /** A block that the leader has not delivered, and since when. */
  #leaderLate: { readonly slot: number; readonly sinceMs: number } | undefined;

  constructor(dependencies: FollowerDependencies) {
    this.#dependencies = dependencies;
    this.#judge = new SourceJudge(dependencies);
    const judge = this.#judge;
    const onGrown = () => this.#noteGrowth();
    this.#branches = new BranchResolver({ ...dependencies, judge, onGrown });
    this.#extender = new HeadExtender({
      ...dependencies,
      judge,
      branches: this.#branches,
      onGrown,
    });
  }

  /** Runs one round. Returns true if it stored something, so that the next round should follow at once. */
  async step(signal: AbortSignal): Promise<boolean> {
    const { source, lead } = this.#dependencies;
    return lead.isHeldBy(source) ? this.#lead(signal) : this.#witness(signal);
  }

  #lead(signal: AbortSignal): Promise<boolean> {
    const { source, feeder } = this.#dependencies;
    if (canStream(source.remote)) return this.#followStream(source.remote, signal);
    const behind = source.finalizedSlot - headSlot(feeder.pending);
    return behind > historySlotsMin ? this.#catchUp(signal) : this.#followHead(signal);
  }

  #noteGrowth(): void {
    this.#judge.noteGrowth();
    this.#branches.reset();
    this.#leaderLate = undefined;
  }

  /** Stores what the source streams, until the stream ends or another source takes the lead. */
  async #followStream(remote: StreamingSource, signal: AbortSignal): Promise<boolean> {
    const { source, feeder, loader, lead, isFit } = this.#dependencies;
    const identity = source.note(await remote.identity(signal));
    if (identity.kind === 'refused' || !isFit(identity.value)) return false;
    const { head, anchor } = feeder.pending;
    const parentHash = (head ?? anchor)?.hash ?? null;
    const feed = await remote.follow({ from: this.#nextSlot(), parentHash }, signal);
    if (feed.kind === 'refused') source.note(feed);
    else source.health.responded();
    if (feed.kind === 'conflict')
      return this.#branches.resolveConflict(feed.previousBlocks, signal);
    if (feed.kind === 'above') return this.#branches.checkHead(signal);
    if (feed.kind === 'refused' || !this.#noteFinalized(feed.blocks.finalized)) return false;
    const { blocks } = feed;
    const loaded = loader.loadStream(blocks, remote.format);
    const grew = await this.#extender.extendAll(loaded, signal, () => lead.isHeldBy(source));
    await blocks.close();
    if (blocks.fault !== undefined) source.note(blocks.fault);
    return grew;
  }

  /** Records the finalized head of a stream. Returns false if it contradicts our own finalized head. */
  #noteFinalized(finalized: BlockRef | null): boolean {
    const { source, feeder } = this.#dependencies;
    if (finalized === null) return true;
    source.finalizedSlot = Math.max(source.finalizedSlot, finalized.number);
    const pending = feeder.pending.finalized;
    if (pending?.number !== finalized.number || pending.hash === finalized.hash) return true;
    const fault = `it has another finalized block at slot ${finalized.number}`;
    return this.#judge.strike('source-contradicts-finality', fault);
  }

  async #catchUp(signal: AbortSignal): Promise<boolean> {
    const { source } = this.#dependencies;
    const first = this.#nextSlot();
    // An empty list would be an unusually long run of skipped slots, so the whole range is listed then.
    for (const span of [catchUpSlots, listSlotsMax]) {
      const last = Math.min(source.finalizedSlot, first + span - 1);
      const list = source.note(await source.remote.listSlots({ first, last }, 'finalized', signal));
      if (list.kind === 'refused') return false;
      if (list.value.length > 0) return this.#load(list.value, 'finalized', signal);
    }
    return false;
  }

  async #followHead(signal: AbortSignal): Promise<boolean> {
    const { source, loader } = this.#dependencies;
    const next = this.#nextSlot();
    const [direct, list] = await Promise.all([
      loader.load(source, next, 'confirmed', signal),
      this.#listAbove(next, signal),
    ]);
    if (direct.kind === 'loaded') {
      source.health.responded();
      return this.#extender.extend(direct.prepared, signal);
    }
    if (direct.kind === 'damaged') return this.#judge.rejectLoad(direct);
    if (list.length > 0) return this.#load(list.slice(0, gapBlocksMax), 'confirmed', signal);
    return this.#branches.checkHead(signal);
  }

  async #witness(signal: AbortSignal): Promise<boolean> {
    const { source, feeder, clock, lead } = this.#dependencies;
    const [slot] = await this.#listAbove(this.#nextSlot(), signal);
    if (slot === undefined) return this.#branches.checkHead(signal);
    const result = source.note(await source.remote.header(slot, 'confirmed', signal));
    if (result.kind === 'refused') return false;
    if (!continuesHead(feeder.pending, result.value)) {
      const isLate = headSlot(feeder.pending) >= slot;
      return isLate ? false : this.#branches.resolve(result.value, signal);
    }
    if (this.#leaderLate?.slot !== slot) this.#leaderLate = { slot, sinceMs: clock.nowMs() };
    const leader = this.#dependencies.sources().find(lead.isHeldBy);
    const patienceMs = leader?.isStreaming === true ? streamGraceMs : leaderGraceMs;
    const graceMs = source.remote.isPushed === true ? 0 : patienceMs;
    if (clock.nowMs() - this.#leaderLate.sinceMs < graceMs) return false;
    lead.take(source);
    // It delivers in this round. Until its next round another witness may take the lead, and so on, and then no witness would ever deliver.
    return this.#lead(signal);
  }

  #nextSlot(): Slot {
    return toSlot(headSlot(this.#dependencies.feeder.pending) + 1);
  }

  /** Returns the slots with a block at or above `first`, up to the newest slot that the source has reported. */
  async #listAbove(first: Slot, signal: AbortSignal): Promise<Slot[]> {
    const { source } = this.#dependencies;
    const reached = Math.max(source.confirmedSlot, source.notices.highest);
    const span = Math.min(Math.max(windowSlots, reached - first + windowSlots), listSlotsMax);
    const range = { first, last: first + span - 1 };
    const list = source.note(await source.remote.listSlots(range, 'confirmed', signal));
    return list.kind === 'ok' ? list.value : [];
  }

  #load(slots: readonly Slot[], commitment: Commitment, signal: AbortSignal): Promise<boolean> {
    const { source, loader } = this.#dependencies;
    return this.#extender.extendAll(loader.loadAll(source, slots, commitment, signal), signal);
  }
}

/** Returns whether a block is a child of our head, or the first block of the ledger if we have none of its blocks. */
function continuesHead({ head, anchor }: ChainSnapshot, block: BlockHeader): boolean {
  if (head === null) return anchor === null && block.parentHash === null;
  return block.parentSlot === head.number && block.parentHash === head.hash;
}
