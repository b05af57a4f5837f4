import { elementAt } from '@sluice/base/element-at';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import type { DatasetReader, RemoteSegment } from '../../dataset/dataset-reader.ts';
import type { ProbeFile, ProbeResult } from '../../engine/lookup/probe-files.ts';
import type { EnginePool } from '../../engine/threads/engine-pool.ts';
import type { ByteRange } from '../../object-store/object-store.ts';
import type { SignatureIndexRange } from '../../segment/indexes/signature-index-range.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';

export interface SignatureCandidatesDependencies {
  readonly dataset: DatasetReader;
  readonly pool: EnginePool;
}

/** Finds the segments that can have a signature, without opening them in the engine. */
export class SignatureCandidates {
  readonly #dataset: DatasetReader;
  readonly #pool: EnginePool;
  /** Indexes that had to be located. An entry lives as long as the description of its segment. */
  readonly #located = new WeakMap<SealedSegment, SignatureIndexRange>();

  constructor({ dataset, pool }: SignatureCandidatesDependencies) {
    this.#dataset = dataset;
    this.#pool = pool;
  }

  /** Returns those of the segments that can have the signature, in batches. Both are newest first. */
  async *find(
    segments: AsyncIterable<SealedSegment> | Iterable<SealedSegment>,
    signature: Uint8Array,
    signal: AbortSignal,
  ): AsyncGenerator<readonly SealedSegment[]> {
    const { probeCountFirst, probeCountMax } = LOOKUP_LIMITS;
    // Most people look for a recent transaction, so the first batches are small.
    let size: number = probeCountFirst;
    let probedCount = 0;
    let batch: SealedSegment[] = [];
    for await (const segment of segments) {
      signal.throwIfAborted();
      batch.push(segment);
      if (batch.length < size) continue;
      yield await this.#findIn(batch, signature, signal);
      probedCount += batch.length;
      batch = [];
      size = Math.min(probeCountMax, probedCount);
    }
    // The lookup in a segment begins with the same reads, so a probe of a single candidate would only take time.
    if (batch.length === 1 && probedCount === 0) yield batch;
    else if (batch.length > 0) yield await this.#findIn(batch, signature, signal);
  }

  async #findIn(
    segments: readonly SealedSegment[],
    signature: Uint8Array,
    signal: AbortSignal,
  ): Promise<readonly SealedSegment[]> {
    const results = await this.#probe(segments, signature, signal);
    return segments.filter((_, i) => results[i] === true);
  }

  /** Returns for each segment whether it can have the signature. Fetches what the cache of an object store lacks. */
  async #probe(
    segments: readonly SealedSegment[],
    signature: Uint8Array,
    signal: AbortSignal,
  ): Promise<readonly boolean[]> {
    const canHave = segments.map(() => true);
    let open = segments.map((segment, position): Open => {
      const remote = this.#dataset.remoteSegment?.(segment);
      return { position, segment, remote };
    });
    for (let round = 0; round < roundCountMax && open.length > 0; round++) {
      const files = open.map((probed) => this.#fileOf(probed));
      const results = await this.#pool.probe(files, signature);
      const missing: Incomplete[] = [];
      for (const [i, probed] of open.entries()) {
        const result = elementAt(results, i);
        if (typeof result === 'object' && result.kind === 'missing')
          missing.push({ ...probed, ranges: result.ranges });
        else canHave[probed.position] = this.#take(probed.segment, result);
      }
      await fetchAll(missing, signal);
      open = missing;
    }
    return canHave;
  }

  #take(segment: SealedSegment, result: Exclude<ProbeResult, { kind: 'missing' }>): boolean {
    if (typeof result === 'boolean') return result;
    this.#located.set(segment, result.index);
    return result.canHave;
  }

  #fileOf({ segment, remote }: Open): ProbeFile {
    const index = segment.signatures ?? this.#located.get(segment);
    if (remote !== undefined) return { ...remote.location, index };
    return { kind: 'file', path: this.#dataset.segmentPath(segment), index };
  }
}

/** A segment that has not been decided yet. */
interface Open {
  readonly position: number;
  readonly segment: SealedSegment;
  readonly remote: RemoteSegment | undefined;
}

interface Incomplete extends Open {
  readonly ranges: readonly ByteRange[];
}

async function fetchAll(incomplete: readonly Incomplete[], signal: AbortSignal): Promise<void> {
  const { probeFetchCountMax } = LOOKUP_LIMITS;
  for (let start = 0; start < incomplete.length; start += probeFetchCountMax) {
    signal.throwIfAborted();
    const group = incomplete.slice(start, start + probeFetchCountMax);
    await Promise.all(group.map(({ remote, ranges }) => remote?.fetch(ranges, 'now')));
  }
}

/** The two reads of a probe may both be missing. A segment that is evicted meanwhile goes to the complete lookup. */
const roundCountMax = 3;
