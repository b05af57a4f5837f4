import { type CodedError, isCodedError } from '@sluice/base/errors';
import { SharedBufferPool } from '@sluice/base/memory/shared-buffer-pool';
import type { HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import type { ReadList } from '../chain/segment-lists.ts';
import type { DatasetReader, RemoteSegment } from '../dataset/dataset-reader.ts';
import type { EnginePool } from '../engine/threads/engine-pool.ts';
import type { SegmentFailure } from '../engine/threads/segment-failure.ts';
import { idleBytesMax, OpenSegments } from './open-segments.ts';

/** The buffers of hot blocks: enough for those that stay open and as much again for those being read. */
const bufferLimits = { countMax: 1_024, bytesMax: idleBytesMax * 2, granuleBytes: 1 << 15 };

/** Segments that the engine's threads can read until `release`. */
export interface UsedSegments {
  readonly keys: readonly string[];
  /** Raises an alarm if the failure is damage of one of these segments. */
  readonly reportDamage: (failure: SegmentFailure) => void;
  readonly release: () => void;
}

/** The segments of one dataset as the engine's threads know them: sealed ones by their files, hot blocks in shared memory. */
export class DatasetSegments {
  readonly #dataset: DatasetReader;
  readonly #open: OpenSegments;
  /** Hot blocks that are being read: at the head all queries need the same one at once. */
  readonly #opening = new Map<string, Promise<void>>();
  readonly #buffers = new SharedBufferPool(bufferLimits);

  constructor({ dataset, pool }: { readonly dataset: DatasetReader; readonly pool: EnginePool }) {
    this.#dataset = dataset;
    this.#open = new OpenSegments(pool);
  }

  get readList(): ReadList {
    return this.#dataset.readList;
  }

  useSealed(segments: readonly SealedSegment[]): UsedSegments {
    const keyed = new Map(segments.map((segment) => [this.#useFile(segment), segment]));
    const keys = [...keyed.keys()];
    const reportDamage = (failure: SegmentFailure) => {
      const segment = keyed.get(failure.key);
      if (segment !== undefined && isDamage(failure))
        this.#dataset.reportDamage(segment, failure.message);
    };
    return { keys, reportDamage, release: () => this.#leave(keys) };
  }

  async useHot(blocks: readonly HotBlock[]): Promise<UsedSegments> {
    const keys: string[] = [];
    try {
      for (const block of blocks) {
        const key = this.#hotKey(block);
        // Another user may close it before this one resumes; it is then opened again.
        while (!this.#open.has(key)) await this.#openHot(key, block);
        this.#open.use(key);
        keys.push(key);
      }
    } catch (error) {
      this.#leave(keys);
      throw error;
    }
    return { keys, reportDamage: () => undefined, release: () => this.#leave(keys) };
  }

  #leave(keys: readonly string[]): void {
    for (const key of keys) this.#open.leave(key);
  }

  #useFile(segment: SealedSegment): string {
    const key = `${this.#dataset.description.name}/${segment.id}`;
    // This is called also for an open segment, so that the cache of an object store knows that it is used.
    const remote = this.#dataset.remoteSegment?.(segment);
    if (!this.#open.has(key)) this.#openFile(key, segment, remote);
    this.#open.use(key);
    return key;
  }

  #openFile(key: string, segment: SealedSegment, remote: RemoteSegment | undefined): void {
    if (remote !== undefined) this.#open.open(key, remote.location, undefined, remote.fetch);
    else this.#open.open(key, { kind: 'file', path: this.#dataset.segmentPath(segment) });
  }

  #hotKey({ payload, header }: HotBlock): string {
    return `${this.#dataset.description.name}/hot ${payload} ${header.hash}`;
  }

  /** Opens a hot block in memory that all threads share, so that it is copied once. Concurrent callers share the read. */
  #openHot(key: string, block: HotBlock): Promise<void> {
    const known = this.#opening.get(key);
    if (known !== undefined) return known;
    let buffer: Uint8Array | undefined;
    const allocate = (length: number) => {
      buffer = this.#buffers.take(length);
      return buffer ?? new Uint8Array(new SharedArrayBuffer(length));
    };
    const opening = this.#dataset.readHotBlock(block, allocate).then((bytes) => {
      const giveBack = () => this.#buffers.release(bytes.buffer as SharedArrayBuffer);
      this.#open.open(key, { kind: 'memory', bytes }, buffer === undefined ? undefined : giveBack);
    });
    this.#opening.set(key, opening);
    const forget = () => this.#opening.delete(key);
    opening.then(forget, forget);
    return opening;
  }
}

function isDamage(error: unknown): error is CodedError {
  return isCodedError(error) && error.code.startsWith('segment-');
}
