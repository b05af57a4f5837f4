import type { ReadList } from '../../chain/segment-lists.ts';
import type { Lookup, LookupResult } from '../../engine/lookup/lookup.ts';
import type { EnginePool } from '../../engine/threads/engine-pool.ts';
import { SegmentFailure } from '../../engine/threads/segment-failure.ts';
import type { DatasetSegments, UsedSegments } from '../dataset-segments.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SnapshotPart } from './snapshot-parts.ts';

export interface SegmentLookupsDependencies {
  readonly segments: DatasetSegments;
  readonly pool: EnginePool;
}

/** Runs lookups in the segments of a leased snapshot, a few segments at a time. */
export class SegmentLookups {
  readonly #segments: DatasetSegments;
  readonly #pool: EnginePool;

  constructor({ segments, pool }: SegmentLookupsDependencies) {
    this.#segments = segments;
    this.#pool = pool;
  }

  get readList(): ReadList {
    return this.#segments.readList;
  }

  /** Returns the result for each segment, in their order. Throws the reason of the signal when it aborts. */
  async run<L extends Lookup>(
    parts: readonly SnapshotPart[],
    lookup: L,
    signal: AbortSignal,
  ): Promise<LookupResult<L>[]> {
    const results: LookupResult<L>[] = [];
    const { batchCountMax } = LOOKUP_LIMITS;
    for (let start = 0; start < parts.length; start += batchCountMax) {
      signal.throwIfAborted();
      results.push(...(await this.#runBatch(parts.slice(start, start + batchCountMax), lookup)));
    }
    return results;
  }

  async #runBatch<L extends Lookup>(
    parts: readonly SnapshotPart[],
    lookup: L,
  ): Promise<LookupResult<L>[]> {
    const sealed = parts.flatMap((part) => (part.kind === 'sealed' ? part.segment : []));
    const hot = parts.flatMap((part) => (part.kind === 'hot' ? part.block : []));
    const ofSealed = await this.#lookUp(this.#segments.useSealed(sealed), lookup);
    const ofHot = await this.#lookUp(await this.#segments.useHot(hot), lookup);
    const [nextSealed, nextHot] = [ofSealed.values(), ofHot.values()];
    return parts.map(({ kind }) => {
      const { value } = kind === 'sealed' ? nextSealed.next() : nextHot.next();
      return value as LookupResult<L>;
    });
  }

  async #lookUp<L extends Lookup>(
    used: UsedSegments,
    lookup: L,
  ): Promise<readonly LookupResult<L>[]> {
    try {
      return await this.#pool.lookUp(used.keys, lookup);
    } catch (error) {
      if (error instanceof SegmentFailure) used.reportDamage(error);
      throw error;
    } finally {
      used.release();
    }
  }
}
