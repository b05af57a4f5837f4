/**
 * The only writer of a dataset's chain.
 *
 *   commit ─► rules checked on the pending state ─► queue ─► one journal record for all queued commits ─► sync ─► visible
 *                                                            (published first, if the dataset has several machines)
 *
 * The visible state is always durable. After a failed write it stays unchanged, and every commit is rejected until
 * `reopen` has read the journal again.
 */
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import { applyChanges } from '../chain/apply-changes.ts';
import type { ChainChange } from '../chain/chain-change.ts';
import {
  type ChainSnapshot,
  emptySnapshot,
  type HotBlock,
  type SealedSegment,
} from '../chain/chain-snapshot.ts';
import type { Fs } from '../storage/fs.ts';
import {
  Journal,
  type JournalContent,
  type JournalOptions,
  type Payload,
} from '../storage/journal.ts';
import {
  type Commit,
  decodeCheckpoint,
  decodeCommits,
  encodeCheckpoint,
  encodeCommits,
} from './state-codec.ts';

/**
 * A block with its bytes, a segment of one block. The writer takes ownership of the buffer, which is freed some time
 * after the commit.
 */
export interface NewBlock {
  readonly header: BlockHeader;
  readonly bytes: Uint8Array;
}

/** A change of the chain, with the bytes to store. */
export type NewChange =
  | Exclude<ChainChange, { readonly kind: 'extend' | 'replace' | 'rewrite' }>
  | { readonly kind: 'extend'; readonly blocks: readonly NewBlock[] }
  | { readonly kind: 'replace'; readonly ancestor: BlockRef; readonly blocks: readonly NewBlock[] }
  | {
      readonly kind: 'rewrite';
      readonly segments: readonly SealedSegment[];
      /** All hot blocks, or none. */
      readonly blocks: readonly NewBlock[];
    };

export interface ChainWriterOptions {
  readonly journal: JournalOptions;
  /** The maximum size of the commits in one journal record. A single larger commit gets its own record. */
  readonly groupBytesMax: number;
}

/**
 * Makes commits durable outside this machine. If it throws, none of them becomes visible here, although they may have
 * become durable there.
 */
export type PublishCommits = (
  commits: readonly Commit[],
  payloads: readonly Payload[],
) => Promise<void>;

export interface ChainWriterDependencies {
  readonly fs: Fs;
  readonly publish?: PublishCommits;
  /** Whether this process still holds the lock of the data folder. Checked before every write. */
  readonly isLockHeld: () => boolean;
  readonly reacquireLock?: () => Promise<void>;
  /** Called when the journal ended with bytes that are no complete record, which were discarded, with the state that is left. */
  readonly onDiscarded?: (byteLength: number, left: ChainSnapshot) => void;
  /** Called when a new state is durable, with its new payloads. */
  readonly onVisible: (snapshot: ChainSnapshot, payloads: readonly Payload[]) => void;
  /** Returns the payloads that leased snapshots still need. */
  readonly leasedPayloads: () => ReadonlySet<number>;
}

interface Queued {
  readonly commit: Commit;
  readonly payloads: readonly Payload[];
  readonly byteLength: number;
  readonly next: ChainSnapshot;
  readonly resolve: (snapshot: ChainSnapshot) => void;
  readonly reject: (error: CodedError) => void;
}

export class ChainWriter {
  readonly #options: ChainWriterOptions;
  readonly #dependencies: ChainWriterDependencies;
  #journal: Journal;
  #visible: ChainSnapshot;
  #pending: ChainSnapshot;
  #nextPayloadId: number;
  #queue: Queued[] = [];
  #flushing: Promise<void> | undefined;
  #reopening: Promise<void> | undefined;
  /** Resolves to the pending state when it is durable. */
  #durable: Promise<ChainSnapshot>;
  #state: 'open' | 'failed' | 'closed' = 'open';

  private constructor(
    options: ChainWriterOptions,
    dependencies: ChainWriterDependencies,
    opened: { journal: Journal; snapshot: ChainSnapshot },
  ) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#journal = opened.journal;
    this.#visible = opened.snapshot;
    this.#pending = opened.snapshot;
    this.#durable = Promise.resolve(opened.snapshot);
    this.#nextPayloadId = opened.journal.payloadIdMax + 1;
  }

  static async open(
    options: ChainWriterOptions,
    dependencies: ChainWriterDependencies,
  ): Promise<ChainWriter> {
    return new ChainWriter(options, dependencies, await openState(options, dependencies));
  }

  get visible(): ChainSnapshot {
    return this.#visible;
  }

  /** The state after all queued commits, against which the next change is checked. */
  get pending(): ChainSnapshot {
    return this.#pending;
  }

  get isFailed(): boolean {
    return this.#state === 'failed';
  }

  /**
   * Applies changes as one commit. Throws immediately, and changes nothing, if a rule forbids them. Resolves to the new
   * state when it is durable and visible.
   */
  commit(changes: readonly NewChange[]): Promise<ChainSnapshot> {
    if (this.#state === 'closed') throw new CodedError('dataset-closed');
    if (this.#state === 'failed') throw new CodedError('dataset-write-failed');
    const candidates: Payload[] = [];
    const commit = changes.map((change) => this.#withPayloadIds(change, candidates));
    const next = applyChanges(this.#pending, commit);
    // This commit changes nothing, but a queued commit before it may still fail.
    if (next === this.#pending) return this.#durable;
    this.#pending = next;
    const payloads = keepStored(next, candidates);
    const byteLength = payloads.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    this.#durable = new Promise<ChainSnapshot>((resolve, reject) => {
      this.#queue.push({ commit, payloads, byteLength, next, resolve, reject });
    });
    this.#startFlush();
    return this.#durable;
  }

  readPayload(id: number): Promise<Uint8Array> {
    return this.#journal.read(id);
  }

  payloadLength(id: number): number {
    return this.#journal.payloadLength(id);
  }

  /** Removes the journal files that neither the state nor a leased snapshot needs. */
  async collect(): Promise<void> {
    await this.#flushing;
    if (this.#state === 'open') {
      await this.#journal.collect(hotPayloads(this.#visible), this.#dependencies.leasedPayloads());
    }
  }

  /**
   * Resumes writing after a failure: reads the durable state, which must equal the visible one, and continues in a new
   * file. If several callers do this at the same time, the journal is opened once, because each opening deletes the
   * temporary files of the others.
   */
  reopen(): Promise<void> {
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  async #reopen(): Promise<void> {
    await this.#flushing;
    if (this.#state !== 'failed') return;
    const { isLockHeld, reacquireLock } = this.#dependencies;
    if (!isLockHeld()) await reacquireLock?.();
    if (!isLockHeld()) throw new CodedError('data-folder-lock-lost');
    await this.#journal.truncateToLastCommit();
    const { journal, snapshot } = await openState(this.#options, this.#dependencies);
    try {
      this.#checkDurable(snapshot);
      await this.#rotate(journal);
    } catch (error) {
      // The failed journal stays in use for readers until a new one replaces it.
      await journal.close();
      throw error;
    }
    const failed = this.#journal;
    this.#journal = journal;
    this.#forgetPending();
    this.#state = 'open';
    await failed.close();
  }

  /**
   * Throws if the durable state differs from the visible one, which means that another process has written meanwhile.
   */
  #checkDurable({ version, head }: ChainSnapshot): void {
    if (version === this.#visible.version && head?.hash === this.#visible.head?.hash) return;
    throw new CodedError('dataset-write-failed', {
      visibleVersion: this.#visible.version,
      durableVersion: version,
    });
  }

  /** Stops writing, as after a failed write, for a reason that a write would not detect. */
  abandon(cause: CodedError): void {
    if (this.#state === 'open') this.#fail(this.#queue, cause);
  }

  async close(): Promise<void> {
    await this.#reopening?.catch(() => undefined);
    // A caller may have committed as soon as the writer was reopened.
    await this.#flushing;
    this.#state = 'closed';
    await this.#journal.close();
  }

  #withPayloadIds(change: NewChange, candidates: Payload[]): ChainChange {
    if (!('blocks' in change)) return change;
    const blocks = change.blocks.map(({ header, bytes }): HotBlock => {
      const id = this.#nextPayloadId++;
      candidates.push({ id, bytes });
      return { header, payload: id };
    });
    return { ...change, blocks };
  }

  #startFlush(): void {
    this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = takeGroup(this.#queue, this.#options.groupBytesMax);
      try {
        await this.#write(group);
      } catch (error) {
        this.#fail([...group, ...this.#queue], error);
      }
    }
    // This happens in the same turn as the last check of the queue. Otherwise a commit could be queued and never written.
    this.#flushing = undefined;
  }

  async #write(group: readonly Queued[]): Promise<void> {
    if (!this.#dependencies.isLockHeld()) throw new CodedError('data-folder-lock-lost');
    if (this.#journal.isFull) await this.#rotate(this.#journal);
    const payloads = group.flatMap((queued) => queued.payloads);
    const commits = group.map(({ commit }) => commit);
    await this.#dependencies.publish?.(commits, payloads);
    await this.#journal.append(encodeCommits(commits), payloads);
    const last = elementAt(group, -1);
    this.#visible = last.next;
    this.#dependencies.onVisible(last.next, payloads);
    for (const { resolve, next } of group) resolve(next);
  }

  #rotate(journal: Journal): Promise<void> {
    const live = hotPayloads(this.#visible);
    const leased = this.#dependencies.leasedPayloads();
    return journal.rotate(encodeCheckpoint(this.#visible), live, leased);
  }

  #forgetPending(): void {
    this.#pending = this.#visible;
    this.#durable = Promise.resolve(this.#visible);
  }

  #fail(group: readonly Queued[], cause: unknown): void {
    this.#state = 'failed';
    this.#queue = [];
    this.#forgetPending();
    const error = new CodedError('dataset-write-failed', {}, { cause });
    for (const { reject } of group) reject(error);
  }
}

async function openState(
  options: ChainWriterOptions,
  { fs, onDiscarded }: ChainWriterDependencies,
): Promise<{ journal: Journal; snapshot: ChainSnapshot }> {
  const { journal, content } = await Journal.open(options.journal, { fs });
  try {
    if (content.checkpoint !== null) {
      const snapshot = replayJournal(content);
      if (content.truncatedBytes > 0) onDiscarded?.(content.truncatedBytes, snapshot);
      return { journal, snapshot };
    }
    await journal.rotate(encodeCheckpoint(emptySnapshot), new Set(), new Set());
    return { journal, snapshot: emptySnapshot };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** Returns the state at the end of a journal. */
export function replayJournal({
  checkpoint,
  commits,
}: Pick<JournalContent, 'checkpoint' | 'commits'>): ChainSnapshot {
  let snapshot = decodeCheckpoint(checkpoint);
  for (const commit of commits.flatMap(decodeCommits)) snapshot = applyChanges(snapshot, commit);
  return snapshot;
}

/** Removes and returns the first commits of the queue that fit into one record. */
function takeGroup(queue: Queued[], bytesMax: number): Queued[] {
  let bytes = 0;
  let count = 0;
  for (const { byteLength } of queue) {
    if (count > 0 && bytes + byteLength > bytesMax) break;
    bytes += byteLength;
    count++;
  }
  return queue.splice(0, count);
}

/** Returns the payloads that the new state refers to. A block that was already stored keeps its earlier payload. */
function keepStored(next: ChainSnapshot, candidates: readonly Payload[]): Payload[] {
  const first = candidates[0]?.id ?? Number.POSITIVE_INFINITY;
  const stored = new Set<number>();
  for (let i = next.hot.length - 1; i >= 0; i--) {
    const { payload } = elementAt(next.hot, i);
    if (payload < first) break;
    stored.add(payload);
  }
  return candidates.filter(({ id }) => stored.has(id));
}

export function hotPayloads(snapshot: ChainSnapshot): Set<number> {
  return new Set(snapshot.hot.map(({ payload }) => payload));
}
