/**
 * Keeps a dataset equal to a feed. Every process of a cluster has such a copy, whose journal is recreated at each start.
 * While the process leads, the copy publishes its commits before it applies them; otherwise it applies what others
 * published.
 *
 *   following:  message of the feed ─► commit here ─► visible
 *   leading:    commit here ─► published with the expected sequence ─► acknowledged by a quorum ─► visible
 */
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { linkedController } from '@sluice/base/linked-controller';
import type { BlockHeader } from '@sluice/ledger/block';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { NewBlock, NewChange, PublishCommits } from '../dataset/chain-writer.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { ObjectStore } from '../object-store/object-store.ts';
import type { BucketManifest, FeedPosition } from './bucket-manifest.ts';
import { commitPatiently, impatient, type Patience, patient } from './commit-patiently.ts';
import type { Feed, FeedMessage } from './feed.ts';
import {
  decodeMessage,
  encodeMessage,
  type IncomingMessage,
  type LoadBlock,
  type StoreBlock,
} from './feed-message.ts';
import { readKnown } from './read-known.ts';

export interface ReplicaDependencies {
  readonly dataset: string;
  readonly feed: Feed;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

const retryMs = 500;
/** The interval at which the feed is asked for its last sequence. */
const watchEveryMs = 1_000;
/** The reading of the feed is restarted after this many intervals without a message although the feed has one. */
const stalledCountMax = 4;
/** The longest time that a request with a conflicting hash waits for this copy to catch up. After it the conflict is not confirmed. */
const confirmMsMax = 3_000;
const waiterStepMs = 10;
/** There are never so many hot blocks. The entries need little memory. */
const feedPositionCountMax = 20_000;
const versionCountMax = 100;

export class Replica {
  readonly #dependencies: ReplicaDependencies;
  /** The message with the bytes of each hot block, and the index in the message, by hash. */
  readonly #feedPositions = new Map<string, readonly [sequence: number, index: number]>();
  /** The sequence of the feed at each version of the state, for the latest versions. */
  readonly #sequences = new Map<number, number>();
  readonly #epoch: number;
  #applied: number;
  /** The last message of this leader, and the version of the state that contains it. Writing it to the local journal may still fail. */
  #published: { readonly sequence: number; readonly version: number } | undefined;
  /** The number of commits of a message that were applied. */
  #partial: { readonly sequence: number; readonly commitCount: number } | undefined;
  #isLeading = false;
  #isApplying = false;
  #dataset: Dataset | undefined;
  /** The last time at which this copy had everything that the feed had. */
  #currentMs: number;

  constructor(dependencies: ReplicaDependencies, manifest: BucketManifest | undefined) {
    this.#dependencies = dependencies;
    this.#applied = manifest?.feed?.sequence ?? 0;
    this.#epoch = manifest?.feed?.epoch ?? 0;
    this.#currentMs = dependencies.clock.nowMs();
  }

  /** The sequence of the last message whose commits are part of the visible state. */
  get applied(): number {
    const published = this.#published;
    if (published !== undefined && this.#attached.snapshot().version >= published.version) {
      this.#applied = published.sequence;
      this.#published = undefined;
    }
    return this.#applied;
  }

  /** The longest time, in milliseconds, that this copy may have been behind the feed. */
  get behindMs(): number {
    return this.#isLeading ? 0 : this.#dependencies.clock.nowMs() - this.#currentMs;
  }

  attach(dataset: Dataset): void {
    this.#dataset = dataset;
  }

  /** Publishes the commits of the leader. Commits that came from the feed are accepted; all others are refused. */
  readonly publish: PublishCommits = async (commits, payloads) => {
    if (this.#isApplying) return;
    if (!this.#isLeading) throw new CodedError('feed-fenced');
    const { feed } = this.#dependencies;
    // If the local journal failed after the last message, `applied` is below the sequence of the feed, and the feed refuses the next
    // message.
    const { applied } = this;
    const options = { bytesMax: feed.messageBytesMax, store: this.#storeBlock };
    const { bytes, blocks } = await encodeMessage(commits, payloads, options);
    // Leadership may have ended while large blocks were stored.
    if (!this.#isLeading) throw new CodedError('feed-fenced');
    try {
      const sequence = await feed.publish(bytes, applied);
      assert(sequence === applied + 1, 'a feed numbers its messages without gaps');
      this.#remember(sequence, blocks);
      // The commits become visible together, each as one version.
      const version = this.#attached.snapshot().version + commits.length;
      this.#published = { sequence, version };
      this.#recordVersion(version, sequence);
      if (payloads.length > 0) this.#attached.alarms.clear('feed-full');
    } catch (error) {
      // Following the feed shows whether the message was stored.
      throw this.#endLeading(error);
    }
  };

  /** Stops a leader from adding blocks while the feed is nearly full. Sealing continues, so that messages can be removed. */
  readonly checkGrowth = (): void => {
    if (!this.#isLeading || !this.#dependencies.feed.isNearlyFull) return;
    const error = new CodedError('feed-full');
    this.#attached.alarms.raise('feed-full', error);
    throw error;
  };

  /** Ends the turn of this leader. Returns the error for the caller to throw. */
  #endLeading(error: unknown): unknown {
    this.#isLeading = false;
    if (isCodedError(error, 'feed-full')) this.#attached.alarms.raise('feed-full', error);
    this.#onFenced();
    return error;
  }

  #onFenced: () => void = () => undefined;

  /** Adds the blocks of a manifest that are not sealed yet, from the messages that carry them. */
  async restoreHot({ chain, feed: position }: BucketManifest): Promise<void> {
    const dataset = this.#attached;
    if (position === null || chain.hot.length === 0) return;
    const blocks = await this.#readBlocks(position);
    const changes = chain.hot.map(({ header }, i): NewBlock => {
      const bytes = blocks[i];
      if (bytes === undefined) throw new CodedError('feed-gap', { wanted: position.sequence });
      const index = position.blocks[i];
      if (index !== undefined) this.#feedPositions.set(header.hash, index);
      return { header, bytes };
    });
    const { finalized } = chain;
    const sealed = dataset.snapshot().finalized?.number ?? -1;
    const isHotFinal = finalized !== null && finalized.number > sealed;
    const restored = [
      { kind: 'extend' as const, blocks: changes },
      ...(isHotFinal ? [{ kind: 'finalize' as const, block: finalized }] : []),
    ];
    await this.#commit(restored, impatient());
  }

  async #readBlocks({ blocks }: FeedPosition): Promise<Uint8Array[]> {
    const wanted = new Map<number, Set<number>>();
    for (const [sequence, index] of blocks) {
      const indexes = wanted.get(sequence) ?? new Set();
      wanted.set(sequence, indexes.add(index));
    }
    const bySequence = new Map<number, readonly NewBlock[]>();
    const range = { first: Math.min(...wanted.keys()), last: Math.max(...wanted.keys()) };
    const { signal } = new AbortController();
    for await (const { sequence, bytes } of readKnown(range, this.#dependencies, signal)) {
      const indexes = wanted.get(sequence);
      if (indexes !== undefined) {
        // Other blocks of the message may already be sealed and their objects removed.
        const message = await decodeMessage(bytes, this.#loadBlock, (index) => indexes.has(index));
        bySequence.set(sequence, message.blocks);
      }
    }
    return blocks.map(
      ([sequence, index]) => bySequence.get(sequence)?.[index]?.bytes as Uint8Array,
    );
  }

  /** Applies the messages of other writers until the signal aborts. Throws `feed-gap` if the feed no longer has a missing message. */
  async follow(signal: AbortSignal): Promise<void> {
    const { feed, clock } = this.#dependencies;
    while (!signal.aborted) {
      const reading = linkedController(signal);
      const watching = this.#watch(reading);
      try {
        for await (const message of feed.read(this.applied + 1, reading.signal)) {
          await this.#apply(message, patient(signal));
        }
      } catch (error) {
        if (!isCodedError(error) || error.code === 'feed-gap') throw error;
        this.#attached.alarms.raise('feed-unreachable', error);
      } finally {
        reading.abort();
        await watching;
      }
      await clock.sleep(retryMs, signal);
    }
  }

  /**
   * Compares this copy with the feed at an interval. Raises an alarm if the feed does not respond, and aborts a reading that makes no
   * progress.
   */
  async #watch(reading: AbortController): Promise<void> {
    const { clock } = this.#dependencies;
    let [seen, stalledCount] = [this.applied, 0];
    while (!reading.signal.aborted) {
      await clock.sleep(watchEveryMs, reading.signal);
      if (reading.signal.aborted) return;
      const last = await this.#askFeed();
      const { applied } = this;
      const isMoving = last === undefined || last <= applied || applied > seen;
      stalledCount = isMoving ? 0 : stalledCount + 1;
      seen = applied;
      // A feed whose last sequence is below ours was deleted and created again. Restarting the reading detects that.
      if (stalledCount >= stalledCountMax || (last ?? applied) < applied) reading.abort();
    }
  }

  /** Returns the last sequence of the feed; undefined, with an alarm, if the feed does not respond. */
  async #askFeed(): Promise<number | undefined> {
    const { feed, clock } = this.#dependencies;
    const { alarms } = this.#attached;
    try {
      const requestedMs = clock.nowMs();
      const last = await feed.readLastSequence();
      alarms.clear('feed-unreachable');
      if (this.applied >= last) this.#currentMs = Math.max(this.#currentMs, requestedMs);
      return last;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      alarms.raise('feed-unreachable', error);
      return undefined;
    }
  }

  /** Applies everything that the feed has now. Throws if the local disk is full or fails. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const { feed, clock } = this.#dependencies;
    const requestedMs = clock.nowMs();
    const last = await feed.readLastSequence();
    const missing = { first: this.applied + 1, last };
    for await (const message of readKnown(missing, this.#dependencies, signal)) {
      await this.#apply(message, impatient());
    }
    if (this.applied >= last) this.#currentMs = Math.max(this.#currentMs, requestedMs);
  }

  /**
   * Publishes from now on. The caller has stopped following and has caught up. The first message is empty: once it is stored, the feed
   * refuses every earlier leader, including one that was paused before it could publish. `onFenced` is called when leading ends.
   */
  async lead(onFenced: () => void): Promise<void> {
    const { feed } = this.#dependencies;
    const options = { bytesMax: feed.messageBytesMax, store: this.#storeBlock };
    const { bytes } = await encodeMessage([], [], options);
    this.#applied = await feed.publish(bytes, this.applied);
    this.#recordVersion(this.#attached.snapshot().version, this.#applied);
    this.#attached.alarms.clear('feed-unreachable');
    this.#onFenced = onFenced;
    this.#isLeading = true;
  }

  unlead(): void {
    this.#isLeading = false;
    // A message that the local journal does not have is read from the feed.
    if (this.applied < (this.#published?.sequence ?? 0)) this.#published = undefined;
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Resolves to true when the state contains everything that the feed had at the time of the call, and to false if that cannot be
   * determined in time. A request gets a conflict only if the result is true.
   */
  async confirm(): Promise<boolean> {
    const { feed, clock } = this.#dependencies;
    const deadlineMs = clock.nowMs() + confirmMsMax;
    try {
      const last = await feed.readLastSequence();
      while (this.applied < last && clock.nowMs() < deadlineMs) await clock.sleep(waiterStepMs);
      return this.applied >= last;
    } catch (error) {
      if (isCodedError(error)) return false;
      throw error;
    }
  }

  /** Returns the position of the feed when this snapshot became visible to a leader. */
  position({ hot, version }: ChainSnapshot): FeedPosition {
    const sequence = this.#sequences.get(version);
    assert(sequence !== undefined, 'a leader knows the sequence of its newest versions');
    const blocks = hot.map(({ header }) => {
      const index = this.#feedPositions.get(header.hash);
      assert(index !== undefined, 'every hot block came with a message');
      return index;
    });
    return { epoch: this.#epoch, sequence, blocks };
  }

  async #apply({ sequence, bytes }: FeedMessage, patience: Patience): Promise<void> {
    assert(!this.#isLeading, 'a leader does not follow');
    const dataset = this.#attached;
    const { commits, blocks } = await this.#decode(bytes, sequence);
    this.#remember(
      sequence,
      blocks.map(({ header }) => header),
    );
    // The first commits may have been applied before the disk failed.
    const doneCount = this.#partial?.sequence === sequence ? this.#partial.commitCount : 0;
    for (const [i, changes] of commits.entries()) {
      if (i < doneCount) continue;
      await this.#commit(changes, patience);
      this.#partial = { sequence, commitCount: i + 1 };
    }
    this.#applied = sequence;
    if (blocks.length > 0) dataset.alarms.clear('feed-full');
  }

  async #decode(bytes: Uint8Array, sequence: number): Promise<IncomingMessage> {
    try {
      return await decodeMessage(bytes, this.#loadBlock);
    } catch (error) {
      // The block was sealed long ago. Only a newer manifest has it.
      if (!isCodedError(error, 'store-object-missing')) throw error;
      throw asGap(error, sequence);
    }
  }

  async #commit(changes: readonly NewChange[], patience: Patience): Promise<void> {
    this.#isApplying = true;
    try {
      await commitPatiently(this.#attached, changes, {
        ...patience,
        clock: this.#dependencies.clock,
      });
    } catch (error) {
      // The feed has only changes that its writer could apply. A copy that cannot apply them must be recreated.
      const isChainFault = isCodedError(error) && error.code.startsWith('chain-');
      throw isChainFault ? asGap(error, this.#applied + 1) : error;
    } finally {
      this.#isApplying = false;
    }
  }

  #recordVersion(version: number, sequence: number): void {
    this.#sequences.set(version, sequence);
    const [oldest] = this.#sequences.keys();
    if (this.#sequences.size > versionCountMax && oldest !== undefined)
      this.#sequences.delete(oldest);
  }

  #remember(sequence: number, blocks: readonly BlockHeader[]): void {
    // Sealed and replaced blocks are removed from the map from time to time, not with every message.
    if (this.#feedPositions.size > feedPositionCountMax) {
      const hot = new Set<string>(this.#attached.snapshot().hot.map(({ header }) => header.hash));
      for (const hash of this.#feedPositions.keys())
        if (!hot.has(hash)) this.#feedPositions.delete(hash);
    }
    blocks.forEach(({ hash }, index) => {
      this.#feedPositions.set(hash, [sequence, index]);
    });
  }

  get #attached(): Dataset {
    assert(this.#dataset !== undefined, 'the dataset is attached before it is used');
    return this.#dataset;
  }

  readonly #storeBlock: StoreBlock = async ({ number, hash }, bytes) => {
    const key = `${this.#dependencies.dataset}/blocks/${number}-${hash}`;
    await this.#dependencies.store.put(key, bytes);
    return key;
  };

  readonly #loadBlock: LoadBlock = (key) => this.#dependencies.store.get(key);
}

function asGap(cause: CodedError, wanted: number): CodedError {
  return new CodedError('feed-gap', { wanted, reason: cause.code }, { cause });
}
