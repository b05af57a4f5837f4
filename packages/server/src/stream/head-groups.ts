/**
 * Those who follow the head with the same query. All who wait have covered the newest state, so what comes next is the same
 * for all of them: it is judged, evaluated and compressed once, and handed to them in slices, so that ten thousand do not
 * hold the process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isStillOnChain } from '../chain/find-blocks.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { BlockRef } from '../ledger/block.ts';
import type { Selection } from '../query/query.ts';
import type { EvaluatedBlocks } from './block-evaluator.ts';
import { tipOf } from './decide-start.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

/** Where a stream is that waits at the head. */
export interface HeadPlace {
  readonly selection: Selection;
  readonly finalizedOnly: boolean;
  /** The last block covered, and the slot to go on from. */
  readonly covered: BlockRef;
  readonly next: number;
  /** Whether its pieces are sent compressed. */
  readonly isDeflated: boolean;
}

/** What came for everyone at one place. */
export interface HeadNews {
  readonly blocks: readonly EvaluatedBlocks[];
  /** The slot that is covered with them, and the version of the state it is the tip of; null if there is more. */
  readonly last: number;
  readonly version: number | null;
}

export interface HeadWaiter {
  /** Without news the waiter looks for itself. A second call does nothing. */
  settle(news: HeadNews | null): void;
}

interface HeadGroup {
  /** By query and stream. */
  readonly key: number;
  readonly place: HeadPlace;
  readonly waiters: Set<HeadWaiter>;
  version: number;
  isDeflated: boolean;
  isAdvancing: boolean;
}

export interface HeadGroupsModules {
  readonly dataset: DatasetReader;
  readonly shared: SharedEvaluations;
}

export class HeadGroups {
  readonly #limits: StreamLimits;
  readonly #dataset: DatasetReader;
  readonly #shared: SharedEvaluations;
  readonly #groups = new Map<number, HeadGroup>();
  readonly #handouts: { readonly waiters: Iterable<HeadWaiter>; readonly news: HeadNews | null }[] =
    [];

  constructor(limits: StreamLimits, { dataset, shared }: HeadGroupsModules) {
    this.#limits = limits;
    this.#dataset = dataset;
    this.#shared = shared;
  }

  /** Puts a waiter that has seen this version with the others at its place. Undefined if those are elsewhere yet. */
  join(place: HeadPlace, version: number, waiter: HeadWaiter): (() => void) | undefined {
    const key = this.#shared.idOf(place.selection) * 2 + (place.finalizedOnly ? 1 : 0);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const empty = { waiters: new Set<HeadWaiter>(), isDeflated: false, isAdvancing: false };
      group = { key, place, version, ...empty };
      this.#groups.set(key, group);
    }
    const { covered, next } = group.place;
    if (covered.hash !== place.covered.hash || next !== place.next) return undefined;
    group.waiters.add(waiter);
    group.isDeflated ||= place.isDeflated;
    const { waiters } = group;
    return () => waiters.delete(waiter);
  }

  /** Takes every group to the newest state. */
  advance(): void {
    for (const group of this.#groups.values()) {
      if (group.waiters.size === 0 && !group.isAdvancing) this.#groups.delete(group.key);
      else if (!group.isAdvancing) void this.#advanceGroup(group);
    }
  }

  async #advanceGroup(group: HeadGroup): Promise<void> {
    group.isAdvancing = true;
    // What fails, each meets by itself and reports.
    const news = await this.#findNews(group).catch(() => null);
    group.isAdvancing = false;
    if (news === undefined) {
      // A state that came in just this moment was left to us.
      if (group.version !== this.#dataset.snapshot().version) void this.#advanceGroup(group);
      return;
    }
    // Whoever comes from here on is elsewhere.
    this.#groups.delete(group.key);
    this.#handOut(group.waiters, news);
  }

  /** What there is for a group; undefined if it is nothing, as where a block only became final. */
  async #findNews(group: HeadGroup): Promise<HeadNews | null | undefined> {
    while (group.version !== this.#dataset.snapshot().version) {
      const news = await this.#readNews(group);
      if (news === null || news.blocks.length > 0 || news.version === null) return news;
      group.version = news.version;
    }
    return undefined;
  }

  /** What the newest state has for a group; null where each must judge for itself. */
  async #readNews({ place, isDeflated }: HeadGroup): Promise<HeadNews | null> {
    const { selection, finalizedOnly, covered, next } = place;
    const lease = this.#dataset.acquire();
    try {
      const { snapshot } = lease;
      const { version, start } = snapshot;
      if (start === null || start > next || !isStillOnChain(snapshot, covered)) return null;
      const last = tipOf(snapshot, finalizedOnly)?.number ?? -1;
      if (last < next) return { blocks: [], last, version };
      if (last - next >= this.#limits.sharedSlotCountMax) return null;
      const range = { selection, snapshot, first: next, last };
      const some = await this.#shared.evaluateSome(range);
      if (isDeflated) await Promise.all(some.blocks.map(({ piece }) => piece?.deflated()));
      return { ...some, version: some.last === last ? version : null };
    } finally {
      lease.release();
    }
  }

  /** One group after another: a turn of the loop has one slice, however many groups there are. */
  #handOut(waiters: Iterable<HeadWaiter>, news: HeadNews | null): void {
    this.#handouts.push({ waiters, news });
    if (this.#handouts.length === 1) void this.#handOutAll();
  }

  async #handOutAll(): Promise<void> {
    let count = 0;
    for (let next = this.#handouts[0]; next !== undefined; next = this.#handouts[0]) {
      for (const waiter of next.waiters) {
        waiter.settle(next.news);
        count += 1;
        if (count % this.#limits.wakeSliceCount === 0) await nextTurn();
      }
      this.#handouts.shift();
    }
  }
}
