import { assert } from '@sluice/base/assert';
import type { SegmentLocation } from '../engine/threads/engine-messages.ts';
import type { EnginePool, FetchRanges } from '../engine/threads/engine-pool.ts';

interface OpenSegment {
  /** The bytes of its buffer, including the unused part. A file uses none. */
  readonly bytes: number;
  users: number;
}

/** How many unused segments stay open, because the next reader is likely to need the same ones. */
export const idleCountMax = 1_024;
export const idleBytesMax = 40 << 20;

/** The open segments of one dataset in the pool. The least recently used one is closed first. */
export class OpenSegments {
  readonly #pool: EnginePool;
  /** In order of use. */
  readonly #open = new Map<string, OpenSegment>();
  #bytes = 0;

  constructor(pool: EnginePool) {
    this.#pool = pool;
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  /** Opens a segment that is not open. `onClosed` is called when no thread reads it any more. */
  open(key: string, location: SegmentLocation, onClosed?: () => void, fetch?: FetchRanges): void {
    this.#pool.open(key, location, onClosed, fetch);
    const bytes = location.kind === 'memory' ? location.bytes.buffer.byteLength : 0;
    this.#open.set(key, { bytes, users: 0 });
    this.#bytes += bytes;
  }

  /** Keeps an open segment until `leave`. */
  use(key: string): void {
    const segment = this.#open.get(key);
    assert(segment !== undefined, 'a segment must be open before it is used');
    this.#open.delete(key);
    segment.users++;
    this.#open.set(key, segment);
  }

  leave(key: string): void {
    const segment = this.#open.get(key);
    assert(
      segment !== undefined && segment.users > 0,
      'a segment must be in use before it is released',
    );
    segment.users--;
    this.#shrink();
  }

  #shrink(): void {
    for (const [key, segment] of this.#open) {
      if (this.#open.size <= idleCountMax && this.#bytes <= idleBytesMax) return;
      if (segment.users > 0) continue;
      this.#open.delete(key);
      this.#bytes -= segment.bytes;
      this.#pool.close(key);
    }
  }
}
