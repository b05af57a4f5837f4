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
import { LinePiece } from './line-piece.ts';
import { batchBytesMax, type SharedEvaluations } from './shared-evaluations.ts';
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
  /** Hands over what is new; false if it no longer waits, or goes on by itself from there. */
  take(news: HeadNews): boolean;
  /** Lets it look for itself. A second call does nothing. */
  settle(): void;
}

interface HeadGroup {
  /** By query and stream. */
  readonly key: number;
  place: HeadPlace;
  waiters: Set<HeadWaiter>;
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
  /** One group after another: a turn of the loop has one slice, however many groups there are. */
  #handingOut: Promise<void> = Promise.resolve();

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
    return () => {
      waiters.delete(waiter);
      group.waiters.delete(waiter);
    };
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
    while (group.waiters.size > 0 && group.version !== this.#dataset.snapshot().version) {
      // What fails, each meets by itself and reports.
      const news = await this.#readNews(group).catch(() => null);
      if (news === null) return this.#dissolve(group);
      group.version = news.version ?? group.version;
      // As where a block only became final.
      if (news.blocks.length > 0) await this.#handOut(group, news);
    }
    group.isAdvancing = false;
  }

  /** Each finds out by itself what became of the chain. */
  async #dissolve(group: HeadGroup): Promise<void> {
    this.#groups.delete(group.key);
    await this.#inSlices(group.waiters, (waiter) => waiter.settle());
  }

  /** Those who took it wait on with the group, together with all who came to the same place meanwhile. */
  async #handOut(group: HeadGroup, news: HeadNews): Promise<void> {
    const { waiters } = group;
    const covered = news.blocks.at(-1)?.lastCovered ?? group.place.covered;
    group.place = { ...group.place, covered, next: Math.max(group.place.next, news.last + 1) };
    group.waiters = new Set();
    await this.#inSlices(waiters, (waiter) => {
      if (waiter.take(news)) group.waiters.add(waiter);
      else waiter.settle();
    });
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
      const range = { selection, snapshot, first: next, last, isDeflated };
      const some = await this.#shared.evaluateSome(range);
      const blocks = joinBlocks(some.blocks);
      if (isDeflated) await Promise.all(blocks.map(({ piece }) => piece?.deflated()));
      return { blocks, last: some.last, version: some.last === last ? version : null };
    } finally {
      lease.release();
    }
  }

  #inSlices(waiters: ReadonlySet<HeadWaiter>, serve: (waiter: HeadWaiter) => void): Promise<void> {
    this.#handingOut = this.#handingOut.then(async () => {
      let count = 0;
      for (const waiter of waiters) {
        serve(waiter);
        count += 1;
        if (count % this.#limits.wakeSliceCount === 0) await nextTurn();
      }
    });
    return this.#handingOut;
  }
}

/** Several blocks as one, which is one write to each reader; as they are where that would be a long one. */
function joinBlocks(blocks: readonly EvaluatedBlocks[]): readonly EvaluatedBlocks[] {
  const last = blocks.at(-1);
  const pieces = blocks.flatMap(({ piece }) => piece ?? []);
  const byteLength = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  if (last === undefined || byteLength > batchBytesMax) return blocks;
  return [{ ...last, piece: pieces.length === 0 ? null : LinePiece.join(pieces) }];
}
