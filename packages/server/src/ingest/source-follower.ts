/**
 * Follows one source.
 *
 *   leading:    far behind  list (finalized) ─► load in parallel, in order ─► extend
 *               at the head getBlock(head + 1) and list (confirmed) ─► load ─► extend
 *               of a portal one stream, history and head ─► read in parallel, in order ─► extend
 *   witnessing: list and headers only; takes the lead where the leader does not deliver
 *   both:       a block that does not link is traced to an own one: a gap to fill, or a branch to judge
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { type CodedError, isCodedError } from '../base/errors.ts';
import type { AlarmBoard } from '../dataset/alarm-board.ts';
import { type AlarmCode, GROWTH_ALARMS, isAlarmCode } from '../dataset/alarm-codes.ts';
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
import type { Slot } from '../ledger/primitives.ts';
import { listSlotsMax } from '../source/ledger-node.ts';
import type { PortalNode } from '../source/portal-node.ts';
import type { Refusal } from '../source/rpc-refusal.ts';
import type { Commitment, SourceIdentity } from '../source/source-node.ts';
import type { BlockLoader, LoadedBlock } from './block-loader.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import { agreedFinalSlot, isConfirmedFinal } from './confirm-finality.ts';
import type { FollowedSource } from './followed-source.ts';
import type { IngestCounters } from './ingest-counters.ts';
import { askOpinions, type Claim, judgeFork } from './judge-fork.ts';
import { forkFloor, headSlot, ownsBlock } from './own-blocks.ts';
import type { PreparedBlock } from './prepared-block.ts';
import type { TipAgreement } from './tip-agreement.ts';
import { type Trace, traceBranch } from './trace-branch.ts';

export interface FollowerModules {
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
  /** Whether a source that says this of itself may still be followed; one that may not is disabled. */
  readonly isFit: (identity: SourceIdentity) => boolean;
}

/** Which of several sources delivers the content of blocks. */
export interface LeadRole {
  isHeldBy(source: FollowedSource): boolean;
  take(source: FollowedSource): void;
}

/** Further below the finalized head than this, blocks are fetched as history. */
const strideSlots = 5;
const catchUpSlots = 2_000;
const windowSlots = 64;
/** Content is fetched ahead of linking for this many blocks at the head at most. */
const headRunCountMax = 32;
const commitsUnderWayMax = 32;
/** How often the source is asked whether our head is still its own. */
const headCheckEveryMs = 400;
/** A leader that delivers is given this long before another delivers in its place. */
const leaderGraceMs = 200;
/** How often a source is asked again for a block of which it lacks a part, and after how long that is an alarm. */
const lackingRetryMs = 1_000;
const lackingAlarmMs = 30_000;

export class SourceFollower {
  readonly #modules: FollowerModules;
  #headCheckedMs = Number.NEGATIVE_INFINITY;
  #lastClaim: { readonly hash: string; readonly tip: number } | undefined;
  #isContradicting = false;
  #leaderLate: { readonly slot: number; readonly sinceMs: number } | undefined;
  /** The block of which the source lacks a part, and since when. */
  #lacking: { readonly slot: number; readonly sinceMs: number } | undefined;

  constructor(modules: FollowerModules) {
    this.#modules = modules;
  }

  /** One round. True if it brought something, so that the next should follow at once. */
  async step(signal: AbortSignal): Promise<boolean> {
    const { source, lead, feeder } = this.#modules;
    if (!lead.isHeldBy(source)) return this.#witness(signal);
    if (source.node.format === 'line') return this.#followStream(source.node, signal);
    const behind = source.finalizedSlot - headSlot(feeder.pending);
    return behind > strideSlots ? this.#catchUp(signal) : this.#followHead(signal);
  }

  /** Takes what a portal streams, for as long as it does and the lead is here. */
  async #followStream(portal: PortalNode, signal: AbortSignal): Promise<boolean> {
    const { source, feeder, loader, lead, isFit } = this.#modules;
    const identity = source.note(await portal.identity(signal));
    if (identity.kind === 'refused' || !isFit(identity.value)) return false;
    const from = (headSlot(feeder.pending) + 1) as Slot;
    const { head, anchor } = feeder.pending;
    const feed = await portal.follow({ from, parentHash: (head ?? anchor)?.hash ?? null }, signal);
    if (feed.kind === 'refused') source.note(feed);
    else source.health.answered();
    if (feed.kind === 'conflict') return this.#meetConflict(feed.previousBlocks, signal);
    if (feed.kind === 'above') return this.#checkHead(signal);
    if (feed.kind === 'refused' || !this.#noteFinalized(feed.lines.finalized)) return false;
    const { lines } = feed;
    const grew = await this.#extendAll(loader.loadLines(lines), signal, () =>
      lead.isHeldBy(source),
    );
    await lines.return();
    if (lines.fault !== undefined) source.note(lines.fault);
    return grew;
  }

  /** A portal proves that our head is not on its chain: its own block there shows the way to its branch. */
  async #meetConflict(blocks: readonly BlockRef[], signal: AbortSignal): Promise<boolean> {
    const { source, feeder, clock } = this.#modules;
    const tip = blocks.at(-1) as BlockRef;
    if (ownsBlock(feeder.pending, tip.number, tip.hash)) {
      // It went back to a block of ours and has not grown from it yet.
      await clock.sleep(headCheckEveryMs, signal);
      return false;
    }
    const header = source.note(await source.node.header(tip.number, 'confirmed', signal));
    return header.kind === 'ok' ? this.#claim(header.value, signal) : false;
  }

  /** What the portal's stream began with as final; false if that contradicts what is final here. */
  #noteFinalized(finalized: BlockRef | null): boolean {
    const { source, feeder } = this.#modules;
    if (finalized === null) return true;
    source.finalizedSlot = Math.max(source.finalizedSlot, finalized.number);
    const own = feeder.pending.finalized;
    if (own?.number !== finalized.number || own.hash === finalized.hash) return true;
    const fault = `it has another finalized block at slot ${finalized.number}`;
    return this.#strike('source-contradicts-finality', fault);
  }

  async #catchUp(signal: AbortSignal): Promise<boolean> {
    const { source, feeder } = this.#modules;
    const first = headSlot(feeder.pending) + 1;
    // A list without a block would be a longer run of skipped slots than any seen: then all up to the end is asked for.
    for (const span of [catchUpSlots, listSlotsMax]) {
      const last = Math.min(source.finalizedSlot, first + span - 1);
      const list = source.note(await source.node.listSlots({ first, last }, 'finalized', signal));
      if (list.kind === 'refused') return false;
      if (list.value.length > 0) return this.#load(list.value, 'finalized', signal);
    }
    return false;
  }

  async #followHead(signal: AbortSignal): Promise<boolean> {
    const { source, feeder, loader } = this.#modules;
    const next = (headSlot(feeder.pending) + 1) as Slot;
    const [direct, list] = await Promise.all([
      loader.load(source, next, 'confirmed', signal),
      this.#listAbove(next, signal),
    ]);
    if (direct.kind === 'loaded') {
      source.health.answered();
      return this.#offer(direct.prepared, signal);
    }
    if (direct.kind === 'damaged') return this.#refuseBlock(direct);
    if (list.length > 0) return this.#load(list.slice(0, headRunCountMax), 'confirmed', signal);
    return this.#checkHead(signal);
  }

  async #witness(signal: AbortSignal): Promise<boolean> {
    const { source, feeder, clock, lead } = this.#modules;
    const [slot] = await this.#listAbove((headSlot(feeder.pending) + 1) as Slot, signal);
    if (slot === undefined) return this.#checkHead(signal);
    const answer = source.note(await source.node.header(slot, 'confirmed', signal));
    if (answer.kind === 'refused') return false;
    const { head } = feeder.pending;
    const { parentSlot, parentHash } = answer.value;
    if (head === null || parentSlot !== head.number || parentHash !== head.hash) {
      return headSlot(feeder.pending) >= slot ? false : this.#claim(answer.value, signal);
    }
    if (this.#leaderLate?.slot !== slot) this.#leaderLate = { slot, sinceMs: clock.nowMs() };
    if (clock.nowMs() - this.#leaderLate.sinceMs >= leaderGraceMs) lead.take(source);
    return false;
  }

  /** Slots with a block at or above one, as far as the source is known to be. */
  async #listAbove(first: Slot, signal: AbortSignal): Promise<Slot[]> {
    const { source } = this.#modules;
    const reached = Math.max(source.confirmedSlot, source.watcher.highest);
    const span = Math.min(Math.max(windowSlots, reached - first + windowSlots), listSlotsMax);
    const range = { first, last: first + span - 1 };
    const list = source.note(await source.node.listSlots(range, 'confirmed', signal));
    return list.kind === 'ok' ? list.value : [];
  }

  /** Loads blocks and adds them one after another until one does not come or does not link. */
  async #load(
    slots: readonly Slot[],
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { source, loader } = this.#modules;
    return this.#extendAll(loader.loadAll(source, slots, commitment, signal), signal);
  }

  async #extendAll(
    blocks: AsyncIterable<LoadedBlock>,
    signal: AbortSignal,
    mayGoOn: () => boolean = () => true,
  ): Promise<boolean> {
    const { source, feeder, counters } = this.#modules;
    const commits: Promise<boolean>[] = [];
    let count = 0;
    for await (const loaded of blocks) {
      if (signal.aborted || !mayGoOn()) break;
      if (loaded.kind !== 'loaded') {
        this.#refuseLoad(loaded);
        break;
      }
      const linked = feeder.linkToHead(loaded.prepared);
      if (isCodedError(linked)) {
        await Promise.all(commits);
        return (await this.#refuseLink(loaded.prepared.header, linked, signal)) || count > 0;
      }
      source.health.answered();
      if (!(await this.#isAgreed(linked.header, signal))) break;
      count++;
      counters.countBlock(linked.counts);
      commits.push(this.#extend(linked, signal));
      if (commits.length >= commitsUnderWayMax) await commits.shift();
    }
    await Promise.all(commits);
    return count > 0;
  }

  /** A block at the head: it extends the chain, or there is something to find out. */
  async #offer(prepared: PreparedBlock, signal: AbortSignal): Promise<boolean> {
    const { feeder, counters } = this.#modules;
    const linked = feeder.linkToHead(prepared);
    if (isCodedError(linked)) return this.#refuseLink(prepared.header, linked, signal);
    if (!(await this.#isAgreed(linked.header, signal))) return false;
    counters.countBlock(linked.counts);
    return this.#extend(linked, signal);
  }

  /** Whether enough sources show a block; one that others contradict is held against this source. */
  async #isAgreed(block: BlockRef, signal: AbortSignal): Promise<boolean> {
    const { agreement, source } = this.#modules;
    const outcome = await agreement.reach(block, source, signal);
    if (outcome === 'contradicted') {
      this.#strike('source-disagrees', `others have another block at slot ${block.number}`);
    }
    return outcome === 'reached';
  }

  async #extend(linked: PreparedBlock, signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#modules.feeder.extend(linked, signal);
    if (outcome.kind !== 'committed') return this.#refuseCommit(linked, outcome.error);
    this.#grew();
    return true;
  }

  #grew(): void {
    const { source, alarms } = this.#modules;
    source.health.praise();
    for (const code of GROWTH_ALARMS) alarms.clear(code);
    this.#agrees();
    this.#lastClaim = undefined;
    this.#leaderLate = undefined;
  }

  /** A rule of the chain forbids what linked a moment ago. */
  #refuseCommit({ header }: PreparedBlock, error: CodedError): boolean {
    const { feeder } = this.#modules;
    // The disk failed, or another source was faster: nothing to hold against this one.
    const isBlameless = error.code === 'dataset-write-failed';
    if (isBlameless || header.number <= headSlot(feeder.pending)) return false;
    return this.#strike(alarmOf(error), `slot ${header.number}: ${error.message}`);
  }

  /** It has our chain: what it said against finalized blocks, it says no longer. */
  #agrees(): void {
    if (!this.#isContradicting) return;
    this.#isContradicting = false;
    this.#modules.alarms.clear('source-contradicts-finality');
  }

  async #refuseLink(header: BlockHeader, error: CodedError, signal: AbortSignal): Promise<boolean> {
    const { feeder } = this.#modules;
    // Another source was faster, or a fork came in between: nothing to hold against this one.
    if (header.number <= headSlot(feeder.pending)) return false;
    if (error.code !== 'chain-not-linked') return this.#strike(alarmOf(error), error.message);
    return this.#claim(header, signal);
  }

  #refuseLoad(loaded: Exclude<LoadedBlock, { kind: 'loaded' }>): void {
    if (loaded.kind === 'refused') this.#modules.source.note(loaded.refusal);
    else this.#refuseBlock(loaded);
  }

  #refuseBlock({ slot, error }: { readonly slot: Slot; readonly error: CodedError }): boolean {
    // Our own threads were busy or ended: the block is not to blame.
    if (ownFaults.has(error.code)) return false;
    this.#modules.counters.countRefused(error.code);
    if (lackingCodes.has(error.code)) return this.#awaitRest(slot, error);
    return this.#strike(alarmOf(error), `slot ${slot}: ${error.message}`);
  }

  /**
   * The source does not have all of the block, which is no lie: it may have it in a moment, and others may have it now. It
   * becomes an alarm where nobody has had it for a while.
   */
  #awaitRest(slot: Slot, error: CodedError): false {
    const { source, alarms, clock } = this.#modules;
    if (this.#lacking?.slot !== slot) this.#lacking = { slot, sinceMs: clock.nowMs() };
    const fault = `slot ${slot}: ${error.message}`;
    const isLong = clock.nowMs() - this.#lacking.sinceMs >= lackingAlarmMs;
    if (isLong) alarms.raise(alarmOf(error), `${source.name}: ${fault}`);
    const retryAfterMs = lackingRetryMs;
    source.health.fail({ kind: 'refused', reason: 'outage', cause: fault, retryAfterMs });
    return false;
  }

  #strike(code: AlarmCode, fault: string): boolean {
    const { source, alarms } = this.#modules;
    source.health.strike(fault);
    alarms.raise(code, `${source.name}: ${fault}`);
    return false;
  }

  /** Asks whether the source still has our head: a branch with a lower tip shows itself in no other way. */
  async #checkHead(signal: AbortSignal): Promise<boolean> {
    const { source, feeder, clock } = this.#modules;
    const { head } = feeder.pending;
    if (head === null || clock.nowMs() - this.#headCheckedMs < headCheckEveryMs) return false;
    this.#headCheckedMs = clock.nowMs();
    const answer = source.note(await source.node.header(head.number, 'confirmed', signal));
    if (answer.kind === 'ok') {
      if (answer.value.hash !== head.hash) return this.#claim(answer.value, signal);
      this.#agrees();
      return false;
    }
    if (answer.reason !== 'not-available' && answer.reason !== 'skipped-hint') return false;
    const first = Math.max(forkFloor(feeder.pending), head.number - windowSlots, 0);
    const range = { first, last: head.number };
    const list = source.note(await source.node.listSlots(range, 'confirmed', signal));
    const tip = list.kind === 'ok' ? list.value.at(-1) : undefined;
    if (tip === undefined) return false;
    const header = source.note(await source.node.header(tip, 'confirmed', signal));
    return header.kind === 'ok' ? this.#claim(header.value, signal) : false;
  }

  /** A block that is not a child of our head: finds out how it hangs together with ours, and acts on it. */
  async #claim(tip: BlockHeader, signal: AbortSignal): Promise<boolean> {
    const { source, feeder, alarms } = this.#modules;
    const snapshot = feeder.pending;
    const trace = await traceBranch(source, tip, snapshot, signal);
    if (trace.kind === 'linked') return this.#takeBranch(trace, signal);
    if (trace.kind === 'failed') source.note(trace.refusal);
    if (trace.kind === 'hole') {
      const fault = `it names slot ${trace.slot} as a parent and denies to have it`;
      source.health.fail(holeRefusal(fault));
      alarms.raise('source-hole', `${source.name}: ${fault}`);
    }
    // Seen through a fork in mid-walk a branch looks broken once; our own chain may have moved as well.
    if (feeder.pending !== snapshot) return false;
    if (trace.kind === 'below-finality') {
      const fault = `its branch leaves the chain below the finalized head, at slot ${trace.slot}`;
      this.#isContradicting = true;
      this.#strike('source-contradicts-finality', fault);
    }
    if (trace.kind === 'unlinked' || trace.kind === 'too-long') {
      const fault = `its block at slot ${tip.number} does not link to what it shows below`;
      this.#strike('source-unlinked', fault);
    }
    return false;
  }

  async #takeBranch(
    trace: Extract<Trace, { kind: 'linked' }>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { source, feeder } = this.#modules;
    const { ancestor, headers } = trace;
    const { head } = feeder.pending;
    const isGap = head === null || (head.number === ancestor.number && head.hash === ancestor.hash);
    const branch = isGap ? headers.slice(0, headRunCountMax) : headers;
    if (!isGap && !(await this.#isBranchChosen(headers, signal))) return false;
    if (!(await this.#isAgreed(branch.at(-1) as BlockHeader, signal))) return false;
    const loaded = await this.#loadBranch(branch, signal);
    if (loaded === undefined || !ownsBlock(feeder.pending, ancestor.number, ancestor.hash))
      return false;
    const outcome = await feeder.replace(ancestor, loaded, signal);
    if (outcome.kind === 'refused') {
      return this.#refuseCommit(loaded.at(-1) as PreparedBlock, outcome.error);
    }
    for (const { counts } of loaded) this.#modules.counters.countBlock(counts);
    this.#grew();
    source.health.answered();
    return true;
  }

  async #isBranchChosen(headers: readonly BlockHeader[], signal: AbortSignal): Promise<boolean> {
    const { source, sources, feeder, clock } = this.#modules;
    const all = sources();
    if (all.length === 1) return true;
    const [first, tip] = [headers[0] as BlockHeader, headers.at(-1) as BlockHeader];
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
      this.#strike('source-disagrees', fault);
    }
    return verdict === 'switch';
  }

  /** Whether the ledger itself has decided: a block of the branch is one that the sources call final. */
  async #isFinal(headers: readonly BlockHeader[], signal: AbortSignal): Promise<boolean> {
    const { sources, clock } = this.#modules;
    const slot = agreedFinalSlot(sources());
    const newest = headers.findLast(({ number }) => number <= slot);
    return newest !== undefined && isConfirmedFinal(newest, sources(), { clock, signal });
  }

  /** The content of a traced branch; `undefined` if it did not come as it was shown. */
  async #loadBranch(
    headers: readonly BlockHeader[],
    signal: AbortSignal,
  ): Promise<PreparedBlock[] | undefined> {
    const { source, loader } = this.#modules;
    const branch: PreparedBlock[] = [];
    const slots = headers.map(({ number }) => number);
    for await (const loaded of loader.loadAll(source, slots, 'confirmed', signal)) {
      if (loaded.kind !== 'loaded') {
        this.#refuseLoad(loaded);
        return undefined;
      }
      const shown = headers[branch.length] as BlockRef;
      if (loaded.prepared.header.hash !== shown.hash) return undefined;
      branch.push(loaded.prepared);
    }
    return signal.aborted ? undefined : branch;
  }
}

function alarmOf({ code }: CodedError): AlarmCode {
  assert(isAlarmCode(code), 'what refuses a block of a source is an alarm');
  return code;
}

const ownFaults: ReadonlySet<string> = new Set([
  'block-pool-full',
  'block-pool-closed',
  'block-worker-died',
]);

/** A block came without something that blocks have. */
const lackingCodes: ReadonlySet<string> = new Set(['block-kind-missing', 'block-meta-missing']);

function holeRefusal(cause: string): Refusal {
  return { kind: 'refused', reason: 'outage', cause };
}
