/**
 * Groups of streams that follow the head with the same query. All of them have covered the newest snapshot, so their next blocks are
 * the same. These are evaluated and compressed once and passed on in slices, so that ten thousand streams do not block the process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlockRef } from '@sluice/ledger/block';
import { isStillOnChain } from '../chain/find-blocks.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { Selection } from '../query/query.ts';
import { batchBytesMax } from './block-collector.ts';
import type { EvaluatedBlocks } from './block-evaluator.ts';
import { tipOf } from './decide-start.ts';
import { LinePiece } from './line-piece.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

/** The position of a stream that waits at the head. */
export interface HeadPosition {
  readonly selection: Selection;
  readonly finalizedOnly: boolean;
  /** The last covered block, and the next slot. */
  readonly covered: BlockRef;
  readonly next: number;
  /** Whether the stream sends its pieces compressed. */
  readonly isDeflated: boolean;
}

/** The new blocks for all streams at one position. */
export interface HeadNews {
  readonly blocks: readonly EvaluatedBlocks[];
  /** The last covered slot, and the version whose tip it is; null if there are more blocks. */
  readonly last: number;
  readonly version: number | null;
}

export interface HeadWaiter {
  /** Passes on new blocks. Returns false if the stream no longer waits, or if it continues by itself. */
  take(news: HeadNews): boolean;
  /** Wakes the stream, which then continues by itself. A second call does nothing. */
  settle(): void;
}

interface HeadGroup {
  /** By query and kind of stream. */
  readonly key: number;
  position: HeadPosition;
  waiters: Set<HeadWaiter>;
  version: number;
  isDeflated: boolean;
  isAdvancing: boolean;
}

export interface HeadGroupsDependencies {
  readonly dataset: DatasetReader;
  readonly shared: SharedEvaluations;
}

export class HeadGroups {
  readonly #limits: StreamLimits;
  readonly #dataset: DatasetReader;
  readonly #shared: SharedEvaluations;
  readonly #groups = new Map<number, HeadGroup>();
  /** Serves one group after another, so that an event loop iteration has one slice for any number of groups. */
  #handingOut: Promise<void> = Promise.resolve();

  constructor(limits: StreamLimits, { dataset, shared }: HeadGroupsDependencies) {
    this.#limits = limits;
    this.#dataset = dataset;
    this.#shared = shared;
  }

  /** Adds a waiter that has seen this version to the group at its position. Returns undefined if the group is elsewhere. */
  join(position: HeadPosition, version: number, waiter: HeadWaiter): (() => void) | undefined {
    const key = this.#shared.idOf(position.selection) * 2 + (position.finalizedOnly ? 1 : 0);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const empty = { waiters: new Set<HeadWaiter>(), isDeflated: false, isAdvancing: false };
      group = { key, position, version, ...empty };
      this.#groups.set(key, group);
    }
    const { covered, next } = group.position;
    if (covered.hash !== position.covered.hash || next !== position.next) return undefined;
    group.waiters.add(waiter);
    group.isDeflated ||= position.isDeflated;
    const { waiters } = group;
    return () => {
      waiters.delete(waiter);
      group.waiters.delete(waiter);
    };
  }

  /** Moves every group to the newest snapshot. */
  advance(): void {
    for (const group of this.#groups.values()) {
      if (group.waiters.size === 0 && !group.isAdvancing) this.#groups.delete(group.key);
      else if (!group.isAdvancing) void this.#advanceGroup(group);
    }
  }

  async #advanceGroup(group: HeadGroup): Promise<void> {
    group.isAdvancing = true;
    while (group.waiters.size > 0 && group.version !== this.#dataset.snapshot().version) {
      // After a failure each stream evaluates the blocks by itself and reports its error.
      const news = await this.#readNews(group).catch(() => null);
      if (news === null) return this.#dissolve(group);
      group.version = news.version ?? group.version;
      // There may be no new block, for example if only the finalized head has changed.
      if (news.blocks.length > 0) await this.#handOut(group, news);
    }
    group.isAdvancing = false;
  }

  /** Wakes all streams of the group, because they must compare their position with the chain. */
  async #dissolve(group: HeadGroup): Promise<void> {
    this.#groups.delete(group.key);
    await this.#inSlices(group.waiters, (waiter) => waiter.settle());
  }

  /** Streams that took the blocks stay in the group, with those that have reached the same position meanwhile. */
  async #handOut(group: HeadGroup, news: HeadNews): Promise<void> {
    const { waiters } = group;
    const covered = news.blocks.at(-1)?.lastCovered ?? group.position.covered;
    group.position = {
      ...group.position,
      covered,
      next: Math.max(group.position.next, news.last + 1),
    };
    group.waiters = new Set();
    await this.#inSlices(waiters, (waiter) => {
      if (waiter.take(news)) group.waiters.add(waiter);
      else waiter.settle();
    });
  }

  /** Evaluates the new blocks for a group. Returns null if each stream must continue by itself. */
  async #readNews({ position, isDeflated }: HeadGroup): Promise<HeadNews | null> {
    const { selection, finalizedOnly, covered, next } = position;
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

/** Joins several pieces into one, so that each stream needs one write. Long pieces are not joined. */
function joinBlocks(blocks: readonly EvaluatedBlocks[]): readonly EvaluatedBlocks[] {
  const last = blocks.at(-1);
  const pieces = blocks.flatMap(({ piece }) => piece ?? []);
  const byteLength = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  if (last === undefined || byteLength > batchBytesMax) return blocks;
  return [{ ...last, piece: pieces.length === 0 ? null : LinePiece.join(pieces) }];
}
