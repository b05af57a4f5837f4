/**
 * Feeds one dataset from its sources until it is told to stop. Nothing that a source says or fails to say ends it.
 *
 *   genesis agreed ─► start chosen ─► each source followed on its own  ─► the dataset
 *                                     finality once a second
 *                                     sealing and retention beside it, history downwards if it is wanted
 */
import { setMaxListeners } from 'node:events';
import { assert } from '../base/assert.ts';
import { isCodedError } from '../base/errors.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { maintainDataset } from '../dataset/maintain-dataset.ts';
import type { Retention } from '../dataset/retention.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { SourceStatus } from '../source/source-health.ts';
import { type BackfillProgress, BackfillTask } from './backfill-task.ts';
import { BlockLoader, type PrepareBlock } from './block-loader.ts';
import { ChainFeeder } from './chain-feeder.ts';
import { chooseStart, type StartPoint } from './choose-start.ts';
import { FinalityTracker } from './finality-tracker.ts';
import {
  FollowedSource,
  type FollowedSourceModules,
  type FollowedSourceOptions,
} from './followed-source.ts';
import { agreeOnGenesis, checkIdentity } from './genesis.ts';
import { IngestCounters } from './ingest-counters.ts';
import { headSlot } from './own-blocks.ts';
import { SourceFollower } from './source-follower.ts';
import { TipAgreement } from './tip-agreement.ts';

export interface IngesterOptions {
  readonly sources: readonly FollowedSourceOptions[];
  /** Counts when the dataset is new. */
  readonly start: StartPoint;
  /** How much of the past is kept; all of it by default. */
  readonly retention?: Retention;
  /** History is brought down to this slot beside following; with all of the past kept. */
  readonly backfillTo?: Slot | undefined;
  /** So many sources must show a block that is not final yet before it is stored; 1 by default. */
  readonly agreement?: number;
}

export interface IngesterModules extends FollowedSourceModules {
  readonly dataset: Dataset;
  readonly prepare: PrepareBlock;
  /** The same for history, where that must not hold up the head. */
  readonly prepareHistory?: PrepareBlock;
  /** The history that was wanted is there. */
  readonly onBackfilled?: (progress: BackfillProgress) => void;
}

export interface IngestStatus {
  readonly sources: readonly SourceStatus[];
  readonly counters: Readonly<Record<string, number>>;
  /** For how long blocks have been offered and none was added. */
  readonly stallMs: number;
  /** How many slots the furthest source is ahead; null before one has said how far it is. */
  readonly behindSlots: number | null;
  /** Null where no history is wanted, or all of it is there. */
  readonly backfill: BackfillProgress | null;
}

/** Without notifications. */
const pollMs = 100;
/** With notifications, a poll without one only guards against a socket that stays open and says nothing. */
const pollQuietMs = 400;
/** History may take long; the head must not wait behind it for connections and threads. */
const historyUnderWayCountMax = 4;
const retryStartMs = 500;
const watchEveryMs = 1_000;
const stallAlarmMs = 30_000;
const downAlarmMs = 60_000;

export class Ingester {
  readonly #options: IngesterOptions;
  readonly #modules: IngesterModules;
  readonly #sources: readonly FollowedSource[];
  readonly #feeder: ChainFeeder;
  readonly #counters = new IngestCounters();
  readonly #backfill: BackfillTask | undefined;
  #leader: FollowedSource | undefined;

  constructor(options: IngesterOptions, modules: IngesterModules) {
    this.#options = options;
    this.#modules = modules;
    this.#sources = options.sources.map((one) => new FollowedSource(one, modules));
    this.#feeder = new ChainFeeder(modules);
    this.#leader = this.#sources[0];
    this.#backfill = this.#planBackfill();
  }

  get status(): IngestStatus {
    return {
      sources: this.#sources.map(({ health }) => health.status),
      counters: this.#counters.toJSON(),
      stallMs: this.#stallMs(),
      behindSlots: this.#behindSlots(),
      backfill: this.#backfill?.progress ?? null,
    };
  }

  /** Resolves after the signal aborted and everything it started has ended. */
  async run(signal: AbortSignal): Promise<void> {
    // Every call under way listens for the end; how many there are is bounded elsewhere.
    setMaxListeners(0, signal);
    const watching = this.#sources.map(({ watcher }) => watcher.run(signal));
    const guarding = this.#watch(signal);
    try {
      await agreeOnGenesis(this.#sources, this.#modules, signal);
      await this.#begin(signal);
      const finality = new FinalityTracker({
        ...this.#modules,
        feeder: this.#feeder,
        alarms: this.#modules.dataset.alarms,
        sources: () => this.#usable(),
      });
      const following = this.#sources.map((source) => this.#follow(source, signal));
      const retention = this.#options.retention ?? { kind: 'all' };
      const { dataset, clock } = this.#modules;
      const maintaining = maintainDataset(dataset, { retention, clock }, signal);
      const backfilling = this.#backfill?.run(signal);
      await Promise.all([...following, finality.run(signal), maintaining, backfilling]);
    } catch (error) {
      if (!signal.aborted) throw error;
      // Closing the dataset or the threads under a commit is how a stop looks from in here.
      if (!isCodedError(error)) throw error;
    } finally {
      await Promise.all([...watching, guarding]);
      await Promise.all(this.#sources.map(({ node }) => node.close()));
    }
  }

  #planBackfill(): BackfillTask | undefined {
    const { backfillTo, retention } = this.#options;
    if (backfillTo === undefined) return undefined;
    const isAllKept = retention === undefined || retention.kind === 'all';
    assert(isAllKept, 'history is not fetched for retention to let it go');
    const { dataset, clock, prepare, prepareHistory, onBackfilled } = this.#modules;
    const loader = new BlockLoader(prepareHistory ?? prepare, historyUnderWayCountMax);
    const sources = () => this.#usable();
    return new BackfillTask(backfillTo, { dataset, clock, loader, sources, onDone: onBackfilled });
  }

  #usable(): FollowedSource[] {
    return this.#sources.filter(
      ({ health, isGenesisChecked }) => isGenesisChecked && !health.isDisabled,
    );
  }

  /** Makes the chain's first commit, which says where it begins. */
  async #begin(signal: AbortSignal): Promise<void> {
    const { dataset, clock } = this.#modules;
    while (!signal.aborted && dataset.snapshot().start === null) {
      for (const source of this.#usable().filter(({ health }) => health.isReady)) {
        const choice = await chooseStart(this.#options.start, source, signal);
        if (choice.kind === 'chosen') {
          await this.#feeder.commit([{ kind: 'create', anchor: choice.anchor }], signal);
          dataset.alarms.clear('source-start-missing');
          return;
        }
        if (choice.kind === 'later') continue;
        const text =
          choice.kind === 'pruned'
            ? `${source.name} begins at slot ${choice.firstAvailable}: start with --from earliest or --from ${choice.firstAvailable} (the same as from: in a configuration), or add a source that has earlier blocks`
            : `${source.name} has come to slot ${choice.finalized} only: wait, or start with --from latest`;
        dataset.alarms.raise('source-start-missing', text);
      }
      await clock.sleep(retryStartMs, signal);
    }
  }

  async #follow(source: FollowedSource, signal: AbortSignal): Promise<void> {
    const { dataset, prepare, clock } = this.#modules;
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
        isHeldBy: (one) => this.#leaderNow() === one,
        take: (one) => {
          this.#leader = one;
        },
      },
    });
    while (!signal.aborted) {
      await source.health.ready(signal);
      if (signal.aborted) return;
      if (!source.isGenesisChecked) await agreeOnGenesis([source], this.#modules, signal);
      const askedMs = clock.nowMs();
      const progressed = source.isGenesisChecked && (await follower.step(signal));
      if (progressed) source.learn(headSlot(this.#feeder.pending), askedMs);
      else await this.#pause(source, signal);
    }
  }

  async #pause({ watcher, health, due }: FollowedSource, signal: AbortSignal): Promise<void> {
    const head = headSlot(this.#feeder.pending);
    if (!watcher.isLive) return this.#modules.clock.sleep(pollMs, signal);
    if (watcher.highest > head) {
      const pauseMs = due.pauseMs(watcher.announcedAbove(head));
      return this.#modules.clock.sleep(pauseMs, signal);
    }
    if (health.isReady) await watcher.above(head, pollQuietMs, signal);
  }

  /** The source that delivers content: the last one that did, as long as it can. */
  #leaderNow(): FollowedSource | undefined {
    const canLead = ({ health, isGenesisChecked }: FollowedSource) =>
      health.isReady && isGenesisChecked;
    if (this.#leader === undefined || !canLead(this.#leader)) {
      this.#leader = this.#sources.find(canLead) ?? this.#leader;
    }
    return this.#leader;
  }

  /** Alarms for what does not happen. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, dataset } = this.#modules;
    let healthyMs = clock.nowMs();
    while (!signal.aborted) {
      await clock.sleep(watchEveryMs, signal);
      // While the disk takes nothing the sources are not asked, so that their silence says nothing of them.
      const isAsked = dataset.status().storage.kind === 'open';
      if (!isAsked) healthyMs = clock.nowMs();
      else if (this.#sources.some(({ health }) => health.isHealthy)) {
        healthyMs = clock.nowMs();
        dataset.alarms.clear('sources-down');
      } else if (clock.nowMs() - healthyMs >= downAlarmMs) {
        dataset.alarms.raise('sources-down', 'no source has answered for a minute');
      }
      if (this.#stallMs() >= stallAlarmMs) {
        dataset.alarms.raise(
          'ingest-stalled',
          `blocks up to slot ${this.#offeredSlot()} are offered and none was added for 30 s`,
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
    return this.#modules.clock.nowMs() - this.#feeder.lastGrownMs;
  }
}
