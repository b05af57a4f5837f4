/**
 * The one writer of a dataset's chain.
 *
 *   commit ─► rules checked on the pending state ─► queue ─► one journal record for all that wait ─► sync ─► visible
 *
 * The visible state is always durable. After a failed write it stays what it was, and every commit is refused until
 * `reopen` has read the journal back.
 */
import { CodedError } from '../base/errors.ts';
import { applyChanges } from '../chain/apply-changes.ts';
import type { ChainChange } from '../chain/chain-change.ts';
import {
  type ChainSnapshot,
  emptySnapshot,
  type HotBlock,
  type SealedSegment,
} from '../chain/chain-snapshot.ts';
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
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

/** A block with the bytes of its one-block segment, which are handed over: they are gone some time after the commit. */
export interface NewBlock {
  readonly header: BlockHeader;
  readonly bytes: Uint8Array;
}

/** As a change of the chain, with the bytes that are to be stored. */
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
  /** One journal record takes no more waiting commits than this, or one that is larger alone. */
  readonly groupBytesMax: number;
}

export interface ChainWriterModules {
  readonly fs: Fs;
  /** Whether this process still owns the data folder; asked before every write. */
  readonly isLockHeld: () => boolean;
  readonly retakeLock?: () => Promise<void>;
  /** A newer state is durable, with the payloads that came with it. */
  readonly onVisible: (snapshot: ChainSnapshot, payloads: readonly Payload[]) => void;
  /** Payloads that readers of older snapshots still hold. */
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
  readonly #modules: ChainWriterModules;
  #journal: Journal;
  #visible: ChainSnapshot;
  #pending: ChainSnapshot;
  #nextPayloadId: number;
  #queue: Queued[] = [];
  #flushing: Promise<void> | undefined;
  #state: 'open' | 'failed' | 'closed' = 'open';

  private constructor(
    options: ChainWriterOptions,
    modules: ChainWriterModules,
    opened: { journal: Journal; snapshot: ChainSnapshot },
  ) {
    this.#options = options;
    this.#modules = modules;
    this.#journal = opened.journal;
    this.#visible = opened.snapshot;
    this.#pending = opened.snapshot;
    this.#nextPayloadId = opened.journal.payloadIdMax + 1;
  }

  static async open(
    options: ChainWriterOptions,
    modules: ChainWriterModules,
  ): Promise<ChainWriter> {
    return new ChainWriter(options, modules, await openState(options, modules));
  }

  /** The last durable state. */
  get visible(): ChainSnapshot {
    return this.#visible;
  }

  /** The state after all that is queued: what the next change is checked against. */
  get pending(): ChainSnapshot {
    return this.#pending;
  }

  get isFailed(): boolean {
    return this.#state === 'failed';
  }

  /**
   * Applies changes as one commit. Throws at once, having changed nothing, if a rule forbids them; resolves with the state
   * that holds them once it is durable and visible.
   */
  commit(changes: readonly NewChange[]): Promise<ChainSnapshot> {
    if (this.#state === 'closed') throw new CodedError('dataset-closed');
    if (this.#state === 'failed') throw new CodedError('dataset-write-failed');
    const offered: Payload[] = [];
    const commit = changes.map((change) => this.#withPayloadIds(change, offered));
    const next = applyChanges(this.#pending, commit);
    if (next === this.#pending) return this.#settle();
    this.#pending = next;
    const payloads = keepStored(next, offered);
    const byteLength = payloads.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    const durable = new Promise<ChainSnapshot>((resolve, reject) => {
      this.#queue.push({ commit, payloads, byteLength, next, resolve, reject });
    });
    this.#startFlush();
    return durable;
  }

  readPayload(id: number): Promise<Uint8Array> {
    return this.#journal.read(id);
  }

  payloadLength(id: number): number {
    return this.#journal.payloadLength(id);
  }

  /** Removes journal files that neither the state nor a reader needs. */
  async collect(): Promise<void> {
    await this.#settle();
    if (this.#state === 'open') {
      await this.#journal.collect(hotPayloads(this.#visible), this.#modules.leasedPayloads());
    }
  }

  /** After a failure: reads back what is durable, which must be what was visible, and goes on in a new file. */
  async reopen(): Promise<void> {
    await this.#settle();
    if (this.#state !== 'failed') return;
    const { isLockHeld, retakeLock } = this.#modules;
    if (!isLockHeld()) await retakeLock?.();
    if (!isLockHeld()) throw new CodedError('data-folder-lock-lost');
    await this.#journal.cut();
    const { journal, snapshot } = await openState(this.#options, this.#modules);
    try {
      this.#checkDurable(snapshot);
      await this.#rotate(journal);
    } catch (error) {
      // The one that failed stays for readers, until another takes its place.
      await journal.close();
      throw error;
    }
    const failed = this.#journal;
    this.#journal = journal;
    this.#pending = this.#visible;
    this.#state = 'open';
    await failed.close();
  }

  /** What is durable is what was visible, unless somebody else has written meanwhile. */
  #checkDurable({ version, head }: ChainSnapshot): void {
    if (version === this.#visible.version && head?.hash === this.#visible.head?.hash) return;
    throw new CodedError('dataset-write-failed', {
      visibleVersion: this.#visible.version,
      durableVersion: version,
    });
  }

  /** Gives the journal up, as after a failed write, for a reason that no write would show. */
  abandon(cause: CodedError): void {
    if (this.#state === 'open') this.#fail(this.#queue, cause);
  }

  async close(): Promise<void> {
    await this.#settle();
    this.#state = 'closed';
    await this.#journal.close();
  }

  #withPayloadIds(change: NewChange, offered: Payload[]): ChainChange {
    if (!('blocks' in change)) return change;
    const blocks = change.blocks.map(({ header, bytes }): HotBlock => {
      const id = this.#nextPayloadId++;
      offered.push({ id, bytes });
      return { header, payload: id };
    });
    return { ...change, blocks };
  }

  async #settle(): Promise<ChainSnapshot> {
    await this.#flushing;
    return this.#visible;
  }

  #startFlush(): void {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
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
  }

  async #write(group: readonly Queued[]): Promise<void> {
    if (!this.#modules.isLockHeld()) throw new CodedError('data-folder-lock-lost');
    if (this.#journal.isFull) await this.#rotate(this.#journal);
    const payloads = group.flatMap((one) => one.payloads);
    await this.#journal.append(encodeCommits(group.map(({ commit }) => commit)), payloads);
    const last = group.at(-1) as Queued;
    this.#visible = last.next;
    this.#modules.onVisible(last.next, payloads);
    for (const { resolve, next } of group) resolve(next);
  }

  #rotate(journal: Journal): Promise<void> {
    const live = hotPayloads(this.#visible);
    const leased = this.#modules.leasedPayloads();
    return journal.rotate(encodeCheckpoint(this.#visible), live, leased);
  }

  #fail(group: readonly Queued[], cause: unknown): void {
    this.#state = 'failed';
    this.#queue = [];
    this.#pending = this.#visible;
    const error = new CodedError('dataset-write-failed', {}, { cause });
    for (const { reject } of group) reject(error);
  }
}

async function openState(
  options: ChainWriterOptions,
  { fs }: ChainWriterModules,
): Promise<{ journal: Journal; snapshot: ChainSnapshot }> {
  const { journal, content } = await Journal.open(options.journal, { fs });
  try {
    if (content.checkpoint !== null) return { journal, snapshot: replayJournal(content) };
    await journal.rotate(encodeCheckpoint(emptySnapshot), new Set(), new Set());
    return { journal, snapshot: emptySnapshot };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** The state that a journal ends with. */
export function replayJournal({
  checkpoint,
  commits,
}: Pick<JournalContent, 'checkpoint' | 'commits'>): ChainSnapshot {
  let snapshot = decodeCheckpoint(checkpoint);
  for (const commit of commits.flatMap(decodeCommits)) snapshot = applyChanges(snapshot, commit);
  return snapshot;
}

/** The first of the queue, as many as fit one record. */
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

/** Blocks that were stored already came with bytes that nobody needs. */
function keepStored(next: ChainSnapshot, offered: readonly Payload[]): Payload[] {
  const first = offered[0]?.id ?? Number.POSITIVE_INFINITY;
  const stored = new Set<number>();
  for (let i = next.hot.length - 1; i >= 0; i--) {
    const { payload } = next.hot[i] as HotBlock;
    if (payload < first) break;
    stored.add(payload);
  }
  return offered.filter(({ id }) => stored.has(id));
}

export function hotPayloads(snapshot: ChainSnapshot): Set<number> {
  return new Set(snapshot.hot.map(({ payload }) => payload));
}
