/**
 * Fills one dataset from its sources until the signal aborts. No fault of a source ends it.
 *
 *   agree on genesis ─► choose the start ─► in parallel: follow each source
 *                                                        track finality, about once a second
 *                                                        seal blocks and apply the retention policy
 *                                                        backfill, if configured
 */
import { setMaxListeners } from 'node:events';
import { assert, unreachable } from '@sluice/base/assert';
import { isCodedError } from '@sluice/base/errors';
import { linkedController } from '@sluice/base/linked-controller';
import type { BlockHeader } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { SourceDependencies, SourceOptions } from '@sluice/source/open-source';
import { INGEST_ALARMS } from '../dataset/alarm-codes.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { maintainDataset } from '../dataset/maintain-dataset.ts';
import type { Retention } from '../dataset/retention.ts';
import { type BackfillProgress, BackfillTask } from './backfill/backfill-task.ts';
import { BlockLoader, type PrepareBlock } from './follow/block-loader.ts';
import { ChainFeeder } from './follow/chain-feeder.ts';
import { chooseStart, type StartChoice, type StartPoint } from './follow/choose-start.ts';
import { isConfirmedStart } from './follow/confirm-finality.ts';
import { FinalityTracker } from './follow/finality-tracker.ts';
import { FollowedSource, type FollowedStatus } from './follow/followed-source.ts';
import { agreeOnGenesis, checkIdentity, checkRemaining } from './follow/genesis.ts';
import { headSlot } from './follow/own-blocks.ts';
import { SourceFollower } from './follow/source-follower.ts';
import { TipAgreement } from './follow/tip-agreement.ts';
import { IngestCounters } from './ingest-counters.ts';

export interface IngesterOptions {
  readonly sources: readonly SourceOptions[];
  /** Applies only to a new dataset. */
  readonly start: StartPoint;
  /** All history by default. */
  readonly retention?: Retention;
  /** History is loaded down to this slot while the sources are followed. Requires that all history is kept. */
  readonly backfillTo?: Slot | undefined;
  /** The number of sources that must have a block before it is stored, unless it is final; 1 by default. */
  readonly agreement?: number;
}

export interface IngesterDependencies extends SourceDependencies {
  readonly dataset: Dataset;
  readonly prepare: PrepareBlock;
  /** Prepares history separately, so that it does not delay the head. */
  readonly prepareHistory?: PrepareBlock;
  /** Called when the backfill is complete. */
  readonly onBackfilled?: (progress: BackfillProgress) => void;
}

export interface IngestStatus {
  readonly sources: readonly FollowedStatus[];
  readonly counters: Readonly<Record<string, number>>;
  /** How long sources have reported new blocks while none was stored. */
  readonly stallMs: number;
  /** The distance to the newest slot that a source reported; null before the first report. */
  readonly behindSlots: number | null;
  /** Null without a backfill, or when it is complete. */
  readonly backfill: BackfillProgress | null;
}

const pollMs = 100;
/** The poll interval with notifications, in case the socket stays open without sending any. */
const pollQuietMs = 400;
/** The limit of parallel history blocks, so that the head does not wait for connections and threads. */
const historyInProgressMax = 4;
const retryStartMs = 500;
const watchEveryMs = 1_000;
const stallAlarmMs = 30_000;
const downAlarmMs = 60_000;

export class Ingester {
  readonly #options: IngesterOptions;
  readonly #dependencies: IngesterDependencies;
  readonly #sources: readonly FollowedSource[];
  readonly #feeder: ChainFeeder;
  readonly #counters = new IngestCounters();
  readonly #backfill: BackfillTask | undefined;
  #leader: FollowedSource | undefined;

  constructor(options: IngesterOptions, dependencies: IngesterDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#sources = options.sources.map((source) => new FollowedSource(source, dependencies));
    this.#feeder = new ChainFeeder(dependencies);
    this.#leader = this.#sources[0];
    this.#backfill = this.#planBackfill();
  }

  get status(): IngestStatus {
    return {
      sources: this.#sources.map((source) => source.status(this.#offeredSlot())),
      counters: this.#counters.toJSON(),
      stallMs: this.#stallMs(),
      behindSlots: this.#behindSlots(),
      backfill: this.#backfill?.progress ?? null,
    };
  }

  /**
   * Resolves after the signal has aborted and all tasks have ended. If a task fails, the others are stopped, and the error is thrown when they
   * have ended, except a coded error during a stop. Then the alarms of ingestion are cleared, because nothing would clear them later: a
   * process of a cluster that no longer writes still serves the dataset.
   */
  async run(signal: AbortSignal): Promise<void> {
    const ended = linkedController(signal);
    const stop = ended.signal;
    // Every open request listens to the signal. Their number is limited elsewhere.
    setMaxListeners(0, stop);
    const watching = this.#sources.map(({ notices }) => notices.run(stop));
    const guarding = this.#watch(stop);
    try {
      await agreeOnGenesis(this.#sources, this.#dependencies, stop);
      await this.#begin(stop);
      await this.#runParts(ended, stop);
    } catch (error) {
      if (!signal.aborted) throw error;
      // A commit fails with a coded error if the dataset or its threads are closed during a stop.
      if (!isCodedError(error)) throw error;
    } finally {
      ended.abort();
      await Promise.all([...watching, guarding]);
      await Promise.all(this.#sources.map(({ remote }) => remote.close()));
      for (const code of INGEST_ALARMS) this.#dependencies.dataset.alarms.clear(code);
    }
  }

  async #runParts(ended: AbortController, signal: AbortSignal): Promise<void> {
    const finality = new FinalityTracker({
      ...this.#dependencies,
      feeder: this.#feeder,
      alarms: this.#dependencies.dataset.alarms,
      sources: () => this.#usable(),
    });
    const following = this.#sources.map((source) => this.#follow(source, signal));
    const retention = this.#options.retention ?? { kind: 'all' };
    const { dataset, clock } = this.#dependencies;
    const maintaining = maintainDataset(dataset, { retention, clock }, signal);
    const backfilling = this.#backfill?.run(signal);
    const parts = [...following, finality.run(signal), maintaining, backfilling];
    try {
      await Promise.all(parts);
    } finally {
      ended.abort();
      await Promise.allSettled(parts);
    }
  }

  #planBackfill(): BackfillTask | undefined {
    const { backfillTo, retention } = this.#options;
    if (backfillTo === undefined) return undefined;
    const isAllKept = retention === undefined || retention.kind === 'all';
    assert(isAllKept, 'a backfill requires that all history is kept');
    const { dataset, clock, prepare, prepareHistory, onBackfilled } = this.#dependencies;
    const loader = new BlockLoader(prepareHistory ?? prepare, historyInProgressMax);
    const sources = () => this.#usable();
    return new BackfillTask(backfillTo, { dataset, clock, loader, sources, onDone: onBackfilled });
  }

  #usable(): FollowedSource[] {
    return this.#sources.filter(
      ({ health, isGenesisChecked }) => isGenesisChecked && !health.isDisabled,
    );
  }

  /** Makes the first commit of a new chain, which sets its start. */
  async #begin(signal: AbortSignal): Promise<void> {
    const { dataset, clock } = this.#dependencies;
    while (!signal.aborted && dataset.snapshot().start === null) {
      for (const source of this.#usable().filter(({ health }) => health.isReady)) {
        const choice = await chooseStart(this.#options.start, source, signal);
        if (choice.kind === 'chosen' && (await this.#isConfirmed(choice.first, signal))) {
          const create = { kind: 'create', anchor: choice.anchor } as const;
          const { kind } = await this.#feeder.commit([create], signal);
          // After a failed write the dataset is open again, and has no start yet.
          if (kind === 'refused') break;
          dataset.alarms.clear('source-start-missing');
          return;
        }
        if (choice.kind === 'later') continue;
        dataset.alarms.raise('source-start-missing', describeRefused(source, choice));
      }
      await clock.sleep(retryStartMs, signal);
      await checkRemaining(this.#sources, dataset, signal);
    }
  }

  /** The start of a chain cannot be changed later, so no single source decides it if there are others. */
  async #isConfirmed(first: BlockHeader | null, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#dependencies;
    const sources = this.#usable();
    if (first === null || sources.length === 1) return true;
    return isConfirmedStart(first, sources, { clock, signal });
  }

  async #follow(source: FollowedSource, signal: AbortSignal): Promise<void> {
    const { dataset, prepare, clock } = this.#dependencies;
    const follower = new SourceFollower({
      source,
      clock,
      feeder: this.#feeder,
      loader: new BlockLoader(prepare),
      alarms: dataset.alarms,
      counters: this.#counters,
      sources: () => this.#usable(),
      agreement: new TipAgreement(this.#options.agreement ?? 1, {
        clock,
        sources: () => this.#usable(),
      }),
      isFit: (identity) => {
        checkIdentity(source, identity, dataset);
        return source.isGenesisChecked;
      },
      lead: {
        isHeldBy: (leader) => this.#leaderNow() === leader,
        take: (leader) => {
          this.#leader = leader;
        },
      },
    });
    while (!signal.aborted) {
      await source.health.ready(signal);
      if (signal.aborted) return;
      if (!source.isGenesisChecked) await agreeOnGenesis([source], this.#dependencies, signal);
      const requestedMs = clock.nowMs();
      const progressed = source.isGenesisChecked && (await follower.step(signal));
      if (progressed) source.learn(headSlot(this.#feeder.pending), requestedMs);
      else await this.#pause(source, signal);
    }
  }

  async #pause(source: FollowedSource, signal: AbortSignal): Promise<void> {
    const { notices, health, due } = source;
    const head = headSlot(this.#feeder.pending);
    // A node that only confirms the blocks of a stream is not asked for each of them.
    if (!source.isStreaming && this.#leader?.isStreaming === true)
      return this.#dependencies.clock.sleep(pollQuietMs, signal);
    if (!notices.isLive) return this.#dependencies.clock.sleep(pollMs, signal);
    if (notices.highest > head) {
      const pauseMs = due.pauseMs(notices.announcedAbove(head));
      return this.#dependencies.clock.sleep(pauseMs, signal);
    }
    if (health.isReady) await notices.above(head, pollQuietMs, signal);
  }

  /** Returns the source that delivers blocks. It changes only if the current one cannot deliver. */
  #leaderNow(): FollowedSource | undefined {
    const canLead = ({ health, isGenesisChecked }: FollowedSource) =>
      health.isReady && isGenesisChecked;
    if (this.#leader === undefined || !canLead(this.#leader)) {
      this.#leader = this.#sources.find(canLead) ?? this.#leader;
    }
    return this.#leader;
  }

  /** Raises alarms if no source answers, one rejects its key, or no block is stored for long. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, dataset } = this.#dependencies;
    let healthyMs = clock.nowMs();
    while (!signal.aborted) {
      await clock.sleep(watchEveryMs, signal);
      // Sources are not asked while the disk fails, so their silence means nothing then.
      const isFollowing = dataset.status().storage.kind === 'open';
      if (!isFollowing) healthyMs = clock.nowMs();
      else if (this.#sources.some(({ health }) => health.isHealthy)) {
        healthyMs = clock.nowMs();
        dataset.alarms.clear('sources-down');
      } else if (clock.nowMs() - healthyMs >= downAlarmMs) {
        dataset.alarms.raise('sources-down', 'no source has answered for a minute');
      }
      const rejecting = this.#sources.filter(({ health }) => health.isKeyRejected);
      if (rejecting.length === 0) dataset.alarms.clear('source-key-rejected');
      else {
        const names = rejecting.map(({ name }) => name).join(', ');
        dataset.alarms.raise('source-key-rejected', `${names}: the key was rejected`);
      }
      if (this.#stallMs() >= stallAlarmMs) {
        dataset.alarms.raise(
          'ingest-stalled',
          `sources report blocks up to slot ${this.#offeredSlot()}, but none was stored for 30 s`,
        );
      }
    }
  }

  #offeredSlot(): number {
    return Math.max(...this.#sources.map(({ confirmedSlot }) => confirmedSlot), -1);
  }

  #behindSlots(): number | null {
    const offered = this.#offeredSlot();
    return offered < 0 ? null : Math.max(0, offered - headSlot(this.#feeder.pending));
  }

  #stallMs(): number {
    if (this.#offeredSlot() <= headSlot(this.#feeder.pending)) return 0;
    return this.#dependencies.clock.nowMs() - this.#feeder.lastGrownMs;
  }
}

/** Says why the dataset does not start with what a source has, and what to do. */
function describeRefused(
  { name }: FollowedSource,
  choice: Exclude<StartChoice, { kind: 'later' }>,
): string {
  switch (choice.kind) {
    case 'pruned':
      return `${name} begins at slot ${choice.firstAvailable}: start with --from earliest or --from ${choice.firstAvailable} (the same as from: in a configuration), or add a source that has earlier blocks`;
    case 'ahead':
      return `${name} has only reached slot ${choice.finalized}: wait, or start with --from latest`;
    case 'chosen':
      return `the dataset would start with block ${choice.first?.number} of ${name}, but not more sources confirm its hash and parent than deny them: check the sources, and remove the one that is wrong`;
    default:
      return unreachable(choice);
  }
}
