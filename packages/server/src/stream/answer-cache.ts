import { LRUCache } from 'lru-cache';
import type { EvaluatedBlocks } from './block-evaluator.ts';

/** The accounted size of a piece in addition to its lines. */
const pieceBytes = 1024;

/** The number of entries for remembered requests; a power of two. A request overwrites the entry whose hash has the same low bits. */
const requestedCountMax = 1 << 16;

/**
 * The answers of queries over whole sealed segments, shared by all datasets. A sealed segment never changes, so an answer stays valid until
 * it is evicted. Most queries read history once, so an answer is kept only when it is requested for the second time.
 */
export class AnswerCache {
  readonly #answers: LRUCache<string, readonly EvaluatedBlocks[]>;
  /** Hashes of requested keys. Different keys with the same hash only cause an answer to be kept early. */
  readonly #requested = new Int32Array(requestedCountMax);
  #hitCount = 0;
  #missCount = 0;

  constructor({ bytesMax }: { readonly bytesMax: number }) {
    this.#answers = new LRUCache({ maxSize: bytesMax, sizeCalculation: sizeOf });
  }

  /** The number of answers that were found. */
  get hitCount(): number {
    return this.#hitCount;
  }

  /** The number of answers that were requested but not found. */
  get missCount(): number {
    return this.#missCount;
  }

  /** The accounted size of all answers. */
  get bytes(): number {
    return this.#answers.calculatedSize;
  }

  get(key: string): readonly EvaluatedBlocks[] | undefined {
    const answer = this.#answers.get(key);
    if (answer !== undefined) this.#hitCount++;
    return answer;
  }

  /** Counts a request for a key without an answer, and remembers the key. Returns whether it was requested before. */
  recordMiss(key: string): boolean {
    this.#missCount++;
    const hash = hashOf(key);
    const index = hash & (requestedCountMax - 1);
    const wasRequested = this.#requested[index] === hash;
    this.#requested[index] = hash;
    return wasRequested;
  }

  /** Keeps an answer whose pieces have memory of their own. An answer larger than the cache is not kept. */
  keep(key: string, answer: readonly EvaluatedBlocks[]): void {
    this.#answers.set(key, answer);
  }

  /** Drops the answers of a dataset over segments below a slot, which nothing can request any more. */
  dropBelow(start: number, dataset: string): void {
    for (const [key, answer] of this.#answers.entries()) {
      const isBelow = (answer.at(-1)?.lastCovered.number ?? 0) < start;
      if (isBelow && key.startsWith(`${dataset}/`)) this.#answers.delete(key);
    }
  }
}

function sizeOf(answer: readonly EvaluatedBlocks[]): number {
  return answer.reduce((sum, { piece }) => sum + pieceBytes + (piece?.byteLength ?? 0), pieceBytes);
}

/** FNV-1a. Zero marks an unused index, so no key has that hash. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return hash === 0 ? 1 : hash;
}
