import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { AlarmBoard } from './alarm-board.ts';
import type { ChainWriter, NewChange } from './chain-writer.ts';
import { FreeSpace, type FreeSpaceDependencies, type FreeSpaceOptions } from './free-space.ts';
import { readManifest } from './manifest.ts';

export interface DatasetWriterDependencies extends Omit<FreeSpaceDependencies, 'onUnreadable'> {
  readonly chain: ChainWriter;
  /** Called before blocks are added. Throws if remote storage has no space for them. Other changes are still possible. */
  readonly checkGrowth?: (() => void) | undefined;
}

/** These changes free far more space than their commits need, so they are allowed on a full disk. */
const freeing: ReadonlySet<NewChange['kind']> = new Set(['trim', 'unlist', 'forget']);

/** The write path of a dataset: checks the free disk space, commits, counts, and raises an alarm after a failure. */
export class DatasetWriter {
  readonly space: FreeSpace;
  readonly #folder: string;
  readonly #fs: FreeSpaceDependencies['fs'];
  readonly #chain: ChainWriter;
  readonly #checkGrowth: () => void;
  readonly #alarms: AlarmBoard;
  readonly #counters = { commits: 0, forks: 0, replacedBlocks: 0, writeFailures: 0 };

  constructor(options: FreeSpaceOptions, dependencies: DatasetWriterDependencies) {
    this.#folder = options.folder;
    this.#fs = dependencies.fs;
    this.#chain = dependencies.chain;
    this.#checkGrowth = dependencies.checkGrowth ?? (() => undefined);
    this.#alarms = dependencies.alarms;
    this.space = new FreeSpace(options, {
      ...dependencies,
      // The open journal could still be written to after its folder was deleted, but those blocks would be lost.
      onUnreadable: (error) => {
        this.#chain.abandon(error);
        this.#recordFailure(error);
      },
    });
  }

  get counters(): Readonly<Record<string, number>> {
    return { ...this.#counters };
  }

  async commit(changes: readonly NewChange[]): Promise<ChainSnapshot> {
    if (changes.some(({ kind }) => !freeing.has(kind))) await this.space.check();
    if (changes.some((change) => 'blocks' in change)) this.#checkGrowth();
    const before = this.#chain.pending;
    const durable = this.#chain.commit(changes);
    const after = this.#chain.pending;
    try {
      const snapshot = await durable;
      this.#recordCommit(before, after, changes);
      return snapshot;
    } catch (error) {
      this.#recordFailure(causeOf(error));
      throw error;
    }
  }

  async reopen(): Promise<void> {
    try {
      // A missing folder is not created again, because its disk may only be unmounted.
      await readManifest(this.#fs, this.#folder);
      await this.#chain.reopen();
    } catch (error) {
      // The current error may differ from the one that raised the alarm.
      if (isCodedError(error)) this.#alarms.raise('dataset-write-failed', error);
      throw error;
    }
    this.#alarms.clear('dataset-write-failed');
  }

  #recordCommit(before: ChainSnapshot, after: ChainSnapshot, changes: readonly NewChange[]): void {
    if (after === before) return;
    this.#counters.commits++;
    if (!changes.some(({ kind }) => kind === 'replace')) return;
    const kept = new Set(after.hot.map(({ header }) => header.hash));
    const removed = before.hot.filter(({ header }) => !kept.has(header.hash));
    // A branch that starts at the head removes no block, so it is not a fork.
    if (removed.length === 0) return;
    this.#counters.forks++;
    this.#counters.replacedBlocks += removed.length;
  }

  #recordFailure(cause: string | CodedError): void {
    this.#counters.writeFailures++;
    this.#alarms.raise('dataset-write-failed', cause);
  }
}

function causeOf(error: unknown): string | CodedError {
  const cause = error instanceof Error ? error.cause : undefined;
  if (isCodedError(cause)) return cause;
  return error instanceof Error ? error.message : String(error);
}
