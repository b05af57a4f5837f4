/**
 * Thousands of clients of followed streams in one process. They record when each block arrives and check that none is
 * missed or duplicated.
 *
 * A chunk that many responses share has the same bytes in each, so it is decompressed once and later recognized by its
 * checksum. The response of the first client of each query is kept and decoded as one stream.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, gunzipSync, inflateRawSync } from 'node:zlib';
import type { Chunk } from './chunk-reader.ts';
import type { FollowedAnswer } from './compare-answers.ts';
import { Follower } from './follower.ts';
import { Histogram } from './histogram.ts';
import type { LedgerClock } from './ledger-clock.ts';
import { ScenarioFailure } from './scenario.ts';

export interface LoadOptions {
  readonly port: number;
  readonly followerCount: number;
  /** Query bodies without a range. Each block must give a line. */
  readonly queries: readonly object[];
}

export interface LoadDependencies {
  readonly clock: LedgerClock;
  /** Returns the slot of the newest block. */
  readonly head: () => Promise<number | null>;
  readonly progress: (text: string) => void;
}

export interface LoadResult {
  readonly latencyMs: Histogram;
  readonly blockCount: number;
  /** The bytes of all followers, as sent and before compression. */
  readonly sentBytes: number;
  readonly plainBytes: number;
}

/** The accept queue of a server has 511 entries, so connections are opened in batches. */
const openAtOnce = 500;
const gzipHeaderLength = 10;
/** The time that the last block may take to reach the last follower. */
const graceMs = 10_000;
const graceStepMs = 50;

/** The blocks of a chunk. */
interface Decoded {
  readonly slots: readonly number[];
  readonly plainBytes: number;
}

export class FollowerLoad {
  readonly #options: LoadOptions;
  readonly #dependencies: LoadDependencies;
  readonly #followers: Follower[] = [];
  readonly #decoded = new Map<number, Decoded>();
  /** Arrivals of chunks that came in several reads and have not been decoded yet. */
  readonly #unknown = new Map<number, (() => void)[]>();
  #latencyMs = new Histogram();
  #firstSlot = Number.POSITIVE_INFINITY;
  #lastSlot = Number.POSITIVE_INFINITY;
  #sentBytes = 0;
  #plainBytes = 0;
  #fault: ScenarioFailure | undefined;

  constructor(options: LoadOptions, dependencies: LoadDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Opens all streams at the head and waits until each has received a block. */
  async open(): Promise<void> {
    const { followerCount, queries, port } = this.#options;
    const { head, progress } = this.#dependencies;
    while (this.#followers.length < followerCount) {
      const newest = await head();
      if (newest === null) throw new ScenarioFailure('the service has no block');
      const fromBlock = newest + 1;
      const count = Math.min(openAtOnce, followerCount - this.#followers.length);
      const opening = Array.from({ length: count }, () => {
        const at = this.#followers.length;
        const query = at % queries.length;
        const isKeeping = at < queries.length;
        const follower = new Follower(
          { query, fromBlock, isKeeping },
          {
            onChunk: (from, chunk) => this.#take(from, chunk),
            onFault: (error) => {
              this.#fault ??= error;
            },
          },
        );
        this.#followers.push(follower);
        return follower.open(port, JSON.stringify({ ...queries[query], fromBlock }));
      });
      await Promise.all(opening);
      this.#check();
      progress(`${this.#followers.length} followers are open`);
    }
  }

  /**
   * Records the blocks that are confirmed during the given time, and waits until the last one has arrived everywhere.
   */
  async measure(seconds: number): Promise<LoadResult> {
    const { clock } = this.#dependencies;
    const { chain } = clock;
    this.#latencyMs = new Histogram();
    this.#sentBytes = 0;
    this.#plainBytes = 0;
    this.#lastSlot = Number.POSITIVE_INFINITY;
    this.#firstSlot = chain.nextBlock(clock.newestBlock(performance.now()) + 1);
    await sleep(seconds * 1000);
    this.#lastSlot = clock.newestBlock(performance.now());
    const { sentBytes, plainBytes } = this.#snapshotBytes();
    await this.#untilAllReached(this.#lastSlot);
    const blockCount = chain.height(this.#lastSlot) - chain.height(this.#firstSlot) + 1;
    const expected = blockCount * this.#followers.length;
    if (this.#latencyMs.count !== expected) {
      throw new ScenarioFailure(`${expected} arrivals expected, ${this.#latencyMs.count} seen`);
    }
    return { latencyMs: this.#latencyMs, blockCount, sentBytes, plainBytes };
  }

  /** Returns the response of the first client of each query, decoded as one stream, and its range of blocks. */
  answers(): readonly FollowedAnswer[] {
    return this.#followers
      .filter(({ isKeeping }) => isKeeping)
      .map(({ query, kept, fromBlock, lastSlot }) => {
        const options = { finishFlush: constants.Z_SYNC_FLUSH };
        const text = gunzipSync(Buffer.concat(kept), options);
        return { query, text, first: fromBlock, last: lastSlot };
      });
  }

  close(): void {
    for (const follower of this.#followers) follower.close();
  }

  #snapshotBytes() {
    return { sentBytes: this.#sentBytes, plainBytes: this.#plainBytes };
  }

  #check(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #untilAllReached(slot: number): Promise<void> {
    for (let waitedMs = 0; waitedMs < graceMs; waitedMs += graceStepMs) {
      this.#check();
      if (this.#followers.every(({ lastSlot }) => lastSlot >= slot)) return;
      await sleep(graceStepMs);
    }
    const late = this.#followers.filter(({ lastSlot }) => lastSlot < slot).length;
    throw new ScenarioFailure(`${late} followers did not get slot ${slot}`);
  }

  #take(follower: Follower, chunk: Chunk): void {
    const ms = performance.now();
    const key = chunk.length * 2 ** 32 + chunk.crc;
    const known = this.#decoded.get(key);
    this.#sentBytes += chunk.length;
    if (known !== undefined) this.#arrive(follower, known, ms);
    else if (chunk.bytes === undefined) {
      const waiting = this.#unknown.get(key) ?? [];
      waiting.push(() => this.#arrive(follower, this.#decoded.get(key) as Decoded, ms));
      this.#unknown.set(key, waiting);
    } else {
      const decoded = decode(chunk.bytes);
      this.#decoded.set(key, decoded);
      this.#arrive(follower, decoded, ms);
      for (const arrive of this.#unknown.get(key) ?? []) arrive();
      this.#unknown.delete(key);
    }
  }

  #arrive(follower: Follower, { slots, plainBytes }: Decoded, ms: number): void {
    const { clock } = this.#dependencies;
    this.#plainBytes += plainBytes;
    for (const slot of slots) {
      if (slot !== clock.after(follower.lastSlot)) {
        const what = `slot ${slot} came after ${follower.lastSlot}`;
        this.#fault ??= new ScenarioFailure(what);
      }
      follower.lastSlot = slot;
      if (slot >= this.#firstSlot && slot <= this.#lastSlot) {
        this.#latencyMs.add(ms - clock.confirmedMs(slot));
      }
    }
  }
}

const lineStart = '{"header":{"number":';

function decode(bytes: Buffer): Decoded {
  const hasHeader = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const body = hasHeader ? bytes.subarray(gzipHeaderLength) : bytes;
  const text = inflateRawSync(body, { finishFlush: constants.Z_SYNC_FLUSH });
  const slots: number[] = [];
  for (let at = 0; at < text.length; at = text.indexOf(10, at) + 1) {
    const start = at + lineStart.length;
    slots.push(Number.parseInt(text.toString('latin1', start, start + 20), 10));
  }
  return { slots, plainBytes: text.length };
}
