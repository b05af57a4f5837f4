import {
  openSource,
  type SourceDependencies,
  type SourceOptions,
} from '@sluice/source/open-source';
import type { SourceResult } from '@sluice/source/refusal';
import type { SlotNotices, Source } from '@sluice/source/source';
import { SourceHealth, type SourceStatus } from '@sluice/source/source-health';

/** The state of a source, and what it is doing. */
export interface FollowedStatus extends SourceStatus {
  readonly kind: SourceOptions['kind'];
  /** How many slots it is behind the most advanced source; null before its first report. */
  readonly slotsBehind: number | null;
  /** Null if the source is only asked for blocks. */
  readonly activity: string | null;
}

/** A source that is followed, with its notifications, its health and what it has reported. */
export class FollowedSource {
  readonly remote: Source;
  readonly kind: SourceOptions['kind'];
  readonly notices: SlotNotices;
  readonly health: SourceHealth;
  /** Predicts when the next block can be requested. */
  readonly due = new DueTimes();
  /** Whether the source is known to serve the ledger of the dataset. */
  isGenesisChecked = false;
  /** The newest slots that the source reported; -1 before the first report. */
  finalizedSlot = -1;
  confirmedSlot = -1;

  constructor(options: SourceOptions, dependencies: SourceDependencies) {
    this.kind = options.kind;
    this.remote = openSource(options, dependencies);
    this.notices = this.remote.notices ?? noNotices;
    this.health = new SourceHealth(options.name, dependencies);
  }

  /** Records that a block was returned to a request that was sent at that time. */
  learn(slot: number, requestedMs: number): void {
    const announcedMs = this.notices.announcedMs(slot);
    if (announcedMs !== undefined && !this.remote.isRateLimited) {
      this.due.learn(requestedMs - announcedMs);
    }
  }

  /** Whether blocks arrive by themselves at the moment. */
  get isStreaming(): boolean {
    return this.remote.isPushed === true && this.notices.isLive;
  }

  /** The state of the source for `/status`, with the distance of its newest slot to a slot that another source has reached. */
  status(newestSlot: number): FollowedStatus {
    const { kind, remote, health, confirmedSlot } = this;
    return {
      ...health.status,
      kind,
      slotsBehind: confirmedSlot < 0 ? null : Math.max(0, newestSlot - confirmedSlot),
      activity: remote.activity ?? null,
    };
  }

  get name(): string {
    return this.remote.name;
  }

  /** Records the response in the health of the source, and returns it. A missing block counts as a good response. */
  note<Value>(response: SourceResult<Value>): SourceResult<Value> {
    if (response.kind === 'ok' || harmless.has(response.reason)) this.health.responded();
    else if (response.reason === 'malformed') this.health.strike(response.cause);
    else this.health.fail(response);
    return response;
  }
}

const harmless: ReadonlySet<string> = new Set([
  'not-available',
  'skipped-hint',
  'pending',
  'pruned',
]);

/** The notifications of a source that has none. */
const noNotices: SlotNotices = {
  isLive: false,
  highest: -1,
  announcedMs: () => undefined,
  announcedAbove: () => [],
  above: () => Promise.resolve(),
  run: () => Promise.resolve(),
};

/**
 * Predicts when an announced block can be requested. A node announces a slot when it is processed and has its block some time
 * later. The delay is learned from earlier blocks. Requests are frequent within the learned range and rare outside of it,
 * because a fixed interval would either send more requests or find the block later.
 *
 *   announced ──────────── earliest ─ · · · · · · ─ latest ────────────►
 *               rare                   frequent              rare
 */
const rareMs = 50;
const frequentMs = 15;
/** The range shrinks by this share of the distance with each block inside of it. */
const forgetShare = 1 / 64;
/** A longer delay is ignored: the block was missed, or loaded as history. */
const delayMsMax = 2_000;

export class DueTimes {
  #earliestMs: number | undefined;
  #latestMs = 0;

  /** Records that a block was returned to a request which was sent this long after the announcement. */
  learn(delayMs: number): void {
    if (delayMs < 0 || delayMs > delayMsMax) return;
    const earliestMs = this.#earliestMs ?? delayMs;
    this.#earliestMs = Math.min(delayMs, earliestMs + (delayMs - earliestMs) * forgetShare);
    this.#latestMs = Math.max(delayMs, this.#latestMs - (this.#latestMs - delayMs) * forgetShare);
  }

  /** Returns the wait before the next request for blocks that were announced this long ago. */
  pauseMs(announcedForMs: readonly number[]): number {
    return Math.min(rareMs, ...announcedForMs.map((forMs) => this.#pauseFor(forMs)));
  }

  #pauseFor(forMs: number): number {
    if (this.#earliestMs === undefined || forMs > this.#latestMs + frequentMs) return rareMs;
    return Math.max(frequentMs, this.#earliestMs - frequentMs - forMs);
  }
}
