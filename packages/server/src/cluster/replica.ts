/**
 * Keeps a dataset equal to a feed. Every process of a cluster has such a copy, whose journal is recreated at each start.
 * While the process leads, the copy publishes its commits before it applies them; otherwise it applies what others
 * published.
 *
 *   following:  message of the feed ─► commit here ─► visible
 *   leading:    commit here ─► published with the expected sequence ─► acknowledged by a quorum ─► visible
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { CodedError, isCodedError } from '../base/errors.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { NewBlock, PublishCommits } from '../dataset/chain-writer.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { ObjectStore } from '../object-store/object-store.ts';
import type { BucketManifest, FeedPosition } from './bucket-manifest.ts';
import type { Feed, FeedMessage } from './feed.ts';
import { decodeMessage, encodeMessage, type LoadBlock, type StoreBlock } from './feed-message.ts';

export interface ReplicaModules {
  readonly dataset: string;
  readonly feed: Feed;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

const retryMs = 500;
/** A reader that is this far behind says so; clients are not told anything that would need newer blocks. */
const confirmMsMax = 3_000;
const waiterStepMs = 10;
/** More than the blocks that are ever hot, and little memory. */
const placeCountMax = 20_000;
const versionCountMax = 100;

export class Replica {
  readonly #modules: ReplicaModules;
  /** Where the bytes of each hot block are in the feed, by hash. */
  readonly #places = new Map<string, readonly [sequence: number, place: number]>();
  /** The sequence of the feed at each version of the state, for the latest versions. */
  readonly #sequences = new Map<number, number>();
  #applied: number;
  #isLeading = false;
  #isApplying = false;
  #dataset: Dataset | undefined;

  constructor(modules: ReplicaModules, manifest: BucketManifest | undefined) {
    this.#modules = modules;
    this.#applied = manifest?.feed?.sequence ?? 0;
  }

  /** The sequence of the last message whose commits are part of the state. */
  get applied(): number {
    return this.#applied;
  }

  attach(dataset: Dataset): void {
    this.#dataset = dataset;
  }

  /** Publishes the commits of the leader. Commits that came from the feed pass; all others are refused. */
  readonly publish: PublishCommits = async (commits, payloads) => {
    if (this.#isApplying) return;
    if (!this.#isLeading) throw new CodedError('feed-fenced');
    const { feed } = this.#modules;
    if (payloads.length > 0 && feed.isNearlyFull) throw new CodedError('feed-full');
    const options = { bytesMax: feed.messageBytesMax, store: this.#storeBlock };
    const { bytes, blocks } = await encodeMessage(commits, payloads, options);
    // Leadership may have ended while large blocks were stored.
    if (!this.#isLeading) throw new CodedError('feed-fenced');
    try {
      const sequence = await feed.publish(bytes, this.#applied);
      assert(sequence === this.#applied + 1, 'a feed numbers its messages without gaps');
      this.#remember(sequence, blocks);
      this.#applied = sequence;
      // The commits become visible together, each as one version.
      this.#recordVersion(this.#attached.snapshot().version + commits.length);
    } catch (error) {
      // Whether the message was stored is found out by following the feed.
      this.#isLeading = false;
      this.#onFenced(error);
      throw error;
    }
  };

  #onFenced: (error: unknown) => void = () => undefined;

  /** Adds the blocks of a manifest that are not sealed yet, from the messages that carry them. */
  async restoreHot({ chain, feed: position }: BucketManifest): Promise<void> {
    const dataset = this.#attached;
    if (position === null || chain.hot.length === 0) return;
    const blocks = await this.#readBlocks(position);
    const changes = chain.hot.map(({ header }, i): NewBlock => {
      const bytes = blocks[i];
      if (bytes === undefined) throw new CodedError('feed-gap', { wanted: position.sequence });
      const place = position.blocks[i];
      if (place !== undefined) this.#places.set(header.hash, place);
      return { header, bytes };
    });
    const { finalized } = chain;
    const sealed = dataset.snapshot().finalized?.number ?? -1;
    const isHotFinal = finalized !== null && finalized.number > sealed;
    await this.#commit(dataset, [
      { kind: 'extend', blocks: changes },
      ...(isHotFinal ? [{ kind: 'finalize' as const, block: finalized }] : []),
    ]);
  }

  async #readBlocks({ blocks }: FeedPosition): Promise<Uint8Array[]> {
    const wanted = new Set(blocks.map(([sequence]) => sequence));
    const found = new Map<number, readonly NewBlock[]>();
    const stop = new AbortController();
    const first = Math.min(...wanted);
    const last = Math.max(...wanted);
    for await (const { sequence, bytes } of this.#modules.feed.read(first, stop.signal)) {
      if (wanted.has(sequence)) {
        const message = await decodeMessage(bytes, this.#loadBlock);
        found.set(sequence, message.blocks);
      }
      if (sequence >= last) break;
    }
    return blocks.map(([sequence, place]) => found.get(sequence)?.[place]?.bytes as Uint8Array);
  }

  /** Applies what others publish until the signal aborts. Throws `feed-gap` if the feed no longer has what is missing. */
  async follow(signal: AbortSignal): Promise<void> {
    const { feed, clock } = this.#modules;
    const { alarms } = this.#attached;
    while (!signal.aborted) {
      try {
        for await (const message of feed.read(this.#applied + 1, signal)) {
          alarms.clear('feed-unreachable');
          await this.#apply(message);
        }
      } catch (error) {
        if (!isCodedError(error) || error.code === 'feed-gap') throw error;
        alarms.raise('feed-unreachable', error);
      }
      await clock.sleep(retryMs, signal);
    }
  }

  /** Applies everything that the feed has now. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const { feed } = this.#modules;
    const last = await feed.readLastSequence();
    if (this.#applied >= last) return;
    for await (const message of feed.read(this.#applied + 1, signal)) {
      await this.#apply(message);
      if (this.#applied >= last) return;
    }
  }

  /** Publishes from now on. The caller has stopped to follow and has caught up. `onFenced` is called when it ends. */
  lead(onFenced: (error: unknown) => void): void {
    this.#isLeading = true;
    this.#recordVersion(this.#attached.snapshot().version);
    this.#onFenced = onFenced;
  }

  unlead(): void {
    this.#isLeading = false;
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Resolves to true when the state contains everything that the feed had at the time of the call, and to false if that
   * cannot be found out in time. A request is told that its chain is wrong only after this.
   */
  async confirm(): Promise<boolean> {
    const { feed, clock } = this.#modules;
    const deadlineMs = clock.nowMs() + confirmMsMax;
    try {
      const last = await feed.readLastSequence();
      while (this.#applied < last && clock.nowMs() < deadlineMs) await clock.sleep(waiterStepMs);
      return this.#applied >= last;
    } catch (error) {
      if (isCodedError(error)) return false;
      throw error;
    }
  }

  /** Returns where the feed stood when this snapshot became visible to a leader. */
  position({ hot, version }: ChainSnapshot): FeedPosition {
    const sequence = this.#sequences.get(version);
    assert(sequence !== undefined, 'a leader knows the sequence of its newest versions');
    const blocks = hot.map(({ header }) => {
      const place = this.#places.get(header.hash);
      assert(place !== undefined, 'every hot block came with a message');
      return place;
    });
    return { sequence, blocks };
  }

  async #apply({ sequence, bytes }: FeedMessage): Promise<void> {
    assert(!this.#isLeading, 'a leader does not follow');
    const dataset = this.#attached;
    const { commits, blocks } = await decodeMessage(bytes, this.#loadBlock);
    this.#remember(
      sequence,
      blocks.map(({ header }) => header),
    );
    for (const changes of commits) await this.#commit(dataset, changes);
    this.#applied = sequence;
  }

  /** A full or failing local disk delays the copy, and nothing else. */
  async #commit(dataset: Dataset, changes: Parameters<Dataset['commit']>[0]): Promise<void> {
    for (;;) {
      try {
        this.#isApplying = true;
        await dataset.commit(changes);
        return;
      } catch (error) {
        const isLocal =
          isCodedError(error, 'disk-floor-reached') || isCodedError(error, 'dataset-write-failed');
        if (!isLocal) throw error;
        await this.#modules.clock.sleep(retryMs);
        if (error.code === 'dataset-write-failed') await dataset.reopen();
      } finally {
        this.#isApplying = false;
      }
    }
  }

  #recordVersion(version: number): void {
    this.#sequences.set(version, this.#applied);
    const [oldest] = this.#sequences.keys();
    if (this.#sequences.size > versionCountMax && oldest !== undefined)
      this.#sequences.delete(oldest);
  }

  #remember(sequence: number, blocks: readonly BlockHeader[]): void {
    // Sealed and replaced blocks are forgotten now and then, not with every message.
    if (this.#places.size > placeCountMax) {
      const hot = new Set<string>(this.#attached.snapshot().hot.map(({ header }) => header.hash));
      for (const hash of this.#places.keys()) if (!hot.has(hash)) this.#places.delete(hash);
    }
    blocks.forEach(({ hash }, place) => {
      this.#places.set(hash, [sequence, place]);
    });
  }

  get #attached(): Dataset {
    assert(this.#dataset !== undefined, 'the dataset is attached before it is used');
    return this.#dataset;
  }

  readonly #storeBlock: StoreBlock = async ({ number, hash }, bytes) => {
    const key = `${this.#modules.dataset}/blocks/${number}-${hash}`;
    await this.#modules.store.put(key, bytes);
    return key;
  };

  readonly #loadBlock: LoadBlock = (key) => this.#modules.store.get(key);
}
