/** One simulated world: a ledger, its sources, a disk, the service and its clients. A seed decides everything that happens. */
import { createHash } from 'node:crypto';
import { watchAssertions } from '@sluice/base/assert';
import { isCodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import { SimFs, type SimOperation } from '../../packages/server/src/storage/testing/sim-fs.ts';
import { Follower } from './follower.ts';
import { Ledger } from './ledger.ts';
import { Model, must, Violation } from './model.ts';
import { makeQueries, Reader, type ReaderDependencies, type ReadPlan } from './reader.ts';
import { Life, Scheduler } from './scheduler.ts';
import { type ServiceSettings, SimulatedService } from './service.ts';
import { chooseSettings } from './settings.ts';
import { SourceState } from './source.ts';

export interface WorldOptions {
  readonly seed: number;
  /** The number of events: operations of the disk, messages, timers, calls of sources. */
  readonly steps: number;
  /** At most this many actions are done. */
  readonly actionCountMax?: number;
  /** Does something random. */
  readonly act: (world: World, random: Random) => void | Promise<void>;
  /** Actions that are left out, which shrinks a failing run. */
  readonly isSkipped?: (action: number) => boolean;
  /** Receives every event. */
  readonly trace?: (text: string) => void;
}

export interface WorldResult {
  readonly digest: string;
  readonly eventCount: number;
  readonly simulatedMs: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly actionCount: number;
  readonly failure: Error | undefined;
}

const restartMsMax = 2_000;
const readerCountMax = 6;

export class World {
  readonly scheduler = new Scheduler();
  readonly disk = new SimFs();
  readonly random: Random;
  readonly ledger: Ledger;
  readonly sources: readonly SourceState[];
  readonly settings: ServiceSettings;
  readonly model: Model;
  readonly queries;
  readonly readers = new Set<Reader>();
  readonly followers: readonly Follower[];
  readonly counts = new Map<string, number>();
  /** The hashes of blocks that the ledger has or had, also on branches that were left. The readers look them up. */
  readonly seenHashes: string[] = [];
  /** The repairs of damaged files, by path. */
  readonly damages = new Map<string, () => void>();
  /** Faults of the disk: the share of operations that fail, and how. */
  diskFault: { readonly kind: 'EIO' | 'ENOSPC'; readonly share: number } | undefined;
  slowMs = 5;
  service: SimulatedService | undefined;
  readonly #options: WorldOptions;
  readonly #hash = createHash('sha256');
  readonly #life = new Life();
  readonly #readerDependencies: ReaderDependencies;
  #processCount = 0;
  #brokenMs = 0;
  #failure: Error | undefined;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.random = Random.fromSeed(options.seed);
    const chosen = chooseSettings(this.random.fork('settings'));
    this.settings = chosen.settings;
    this.ledger = new Ledger(this.random.fork('ledger'));
    for (let i = 0; i < chosen.firstBlockCount; i++) this.ledger.produce(i % 11 === 0 ? 2 : 0);
    this.ledger.finalize(8);
    this.sources = Array.from(
      { length: chosen.sourceCount },
      (_, i) => new SourceState(`source-${i}`, this.ledger),
    );
    this.model = new Model(this.ledger, this.settings.retention);
    this.queries = makeQueries(this.ledger);
    const { scheduler, model, ledger } = this;
    const connect = (client: Life) => this.service?.connect(client);
    const note = (event: string) => this.note(event);
    const mayFail = (sinceMs: number) => this.#brokenMs >= sinceMs - 1_000;
    const shared = { scheduler, model, ledger, connect, note, mayFail };
    this.#readerDependencies = { ...shared, random: this.random.fork('readers') };
    this.followers = [false, true].map(
      (isFinal, i) => new Follower(isFinal, { ...shared, random: this.random.fork('follower', i) }),
    );
    this.scheduler.afterEvent = () => this.#look();
    this.disk.fault = this.#faultOf;
  }

  /** Does all steps, then checks that everything recovers. */
  async run(): Promise<WorldResult> {
    const unwatch = watchAssertions({
      onFailed: (text) => this.fail(new Violation(`assertion: ${text}`)),
      onFailedElsewhere: () => undefined,
    });
    const { steps, actionCountMax = Number.POSITIVE_INFINITY } = this.#options;
    let actionCount = 0;
    try {
      this.startService();
      for (const follower of this.followers) this.#watch(follower.run());
      while (this.scheduler.eventCount < steps && actionCount < actionCountMax)
        await this.#act(actionCount++);
      await this.converge();
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
    }
    unwatch();
    this.#endAll();
    const { eventCount, nowMs: simulatedMs } = this.scheduler;
    return {
      digest: this.#hash.digest('hex'),
      eventCount,
      actionCount,
      simulatedMs,
      counts: this.counts,
      failure: this.#failure,
    };
  }

  /** An action depends on the seed and its number only, so that others can be left out. */
  async #act(number: number): Promise<void> {
    const random = this.random.fork('action', number);
    const passMs = random.chance(0.02) ? random.unit() * 5_000 : random.unit() * 40;
    const { isSkipped, act } = this.#options;
    if (isSkipped?.(number) !== true) await act(this, random);
    await this.scheduler.advance(passMs);
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    this.note(name);
  }

  note(event: string): void {
    const text = `${this.scheduler.nowMs.toFixed(3)} ${event}\n`;
    this.#hash.update(text);
    this.#options.trace?.(text);
  }

  fail(error: Error): void {
    this.#failure ??= error;
  }

  /** Starts a process. If it cannot start, it is started again later, as a supervisor does. */
  startService(): void {
    const { disk, scheduler, ledger, sources } = this;
    const service = new SimulatedService(this.settings, {
      disk,
      slowMs: () => this.slowMs,
      scheduler,
      random: this.random.fork('process', this.#processCount++),
      ledger,
      sources,
      onFailed: (error) => this.#ended(error),
    });
    this.service = service;
    service.start().catch((error: unknown) => this.#ended(error));
  }

  #ended(error: unknown): void {
    this.note(`the process ended: ${error}`);
    this.count('process ended');
    if (!isCodedError(error)) this.fail(error instanceof Error ? error : new Error(String(error)));
    else if (!this.isBroken) this.fail(new Violation(`the process ended: ${error.stack}`));
    this.kill();
  }

  /** Ends the process at once. It is started again after a while. */
  kill(): void {
    this.service?.kill();
    this.service = undefined;
    this.disk.restart();
    this.disk.fault = this.#faultOf;
    const waitMs = this.random.fork('restart', this.#processCount).unit() * restartMsMax;
    this.scheduler.schedule(waitMs, this.#life, () => this.startService());
  }

  losePower(random: Random): void {
    this.disk.powerLoss(() => random.unit());
    this.disk.fault = this.#faultOf;
  }

  /** Stops the process properly. It is started again after a while. */
  async stop(): Promise<void> {
    const { service } = this;
    this.service = undefined;
    let isStopped = false;
    void service?.stop().then(() => {
      isStopped = true;
    });
    for (let second = 0; second < stopSecondsMax && !isStopped; second++)
      await this.scheduler.advance(1_000);
    must(isStopped, 'a process stops in time');
    this.kill();
  }

  read(plan: ReadPlan): void {
    if (this.readers.size >= readerCountMax) return;
    const reader = new Reader(plan, this.#readerDependencies);
    this.readers.add(reader);
    this.#watch(reader.run().finally(() => this.readers.delete(reader)));
  }

  /** Runs a check of one response in the background. */
  check(run: (dependencies: ReaderDependencies) => Promise<void>): void {
    this.#watch(run(this.#readerDependencies));
  }

  #watch(running: Promise<void>): void {
    running.catch((error: unknown) => {
      this.fail(error instanceof Error ? error : new Error(String(error)));
    });
  }

  /** Whether something is broken now, so that requests may fail. */
  get isBroken(): boolean {
    const dataset = this.service?.dataset;
    if (dataset === undefined || dataset.snapshot().start === null) return true;
    return this.diskFault !== undefined || this.damages.size > 0;
  }

  #look(): void {
    if (this.isBroken) this.#brokenMs = this.scheduler.nowMs;
    const snapshot = this.service?.dataset?.snapshot();
    if (snapshot !== undefined && snapshot !== this.model.current?.snapshot) {
      this.note(`state ${snapshot.version} ${snapshot.head?.number} ${snapshot.finalized?.number}`);
      this.model.observe(snapshot);
      if (snapshot.head !== null) this.seenHashes[snapshot.version % 32] = snapshot.head.hash;
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The same operation always has the same fate. */
  readonly #faultOf = ({ name, index }: SimOperation) => {
    const { diskFault } = this;
    if (diskFault === undefined || name === 'close') return undefined;
    const isWrite = name !== 'read' && name !== 'list' && name !== 'size' && name !== 'space';
    if (diskFault.kind === 'ENOSPC' && !isWrite) return undefined;
    const fate = Math.imul(index + this.#processCount * 977 + this.#options.seed, 0x9e3779b1) >>> 0;
    return fate < diskFault.share * 2 ** 32 ? diskFault.kind : undefined;
  };

  /** Ends all faults. From then on everything must recover by itself. */
  heal(): void {
    this.diskFault = undefined;
    this.slowMs = 5;
    this.disk.diskSpace = { freeBytes: 1e12, totalBytes: 2e12 };
    for (const repair of this.damages.values()) repair();
    this.damages.clear();
    for (const source of this.sources) source.fault = 'none';
  }

  /** Ends all faults and waits until the service has everything that the ledger has. */
  async converge(): Promise<void> {
    this.note('converge');
    this.heal();
    for (let second = 0; second < convergeSecondsMax; second++) {
      // Some alarms end when the chain grows, others with the next segment.
      if (second < 5) {
        for (let i = 0; i < 4; i++) this.ledger.produce(0);
        this.ledger.finalize(3);
      }
      await this.scheduler.advance(1_000);
      if (second >= 5 && this.#lag() === undefined) break;
    }
    const lag = this.#lag();
    must(lag === undefined, `after ${convergeSecondsMax} s without faults: ${lag}`);
    // Streams without a new block end after 30 s, some clients read slowly, and hundreds of blocks may have to be sealed.
    for (let second = 0; second < restSecondsMax && this.#unrest() !== undefined; second += 10)
      await this.scheduler.advance(10_000);
    const unrest = this.#unrest();
    must(unrest === undefined, `${restSecondsMax} s later: ${unrest}`);
  }

  /** Returns what has not recovered. */
  #lag(): string | undefined {
    const { service, ledger, model } = this;
    const { current } = model;
    if (service?.dataset === undefined) return 'the service is not running';
    if (current?.head !== ledger.head) return `the head is ${current?.head?.slot}`;
    if (current.finalized !== (ledger.finalized ?? null))
      return `the finalized head is ${current.finalized?.slot}`;
    if (service.ingester?.status.backfill != null) return 'the backfill is not complete';
    const [follower, finalFollower] = this.followers;
    const tip = follower?.held.at(-1);
    if (tip?.hash !== ledger.head.hash) return `a follower is at ${tip?.number}`;
    const finalTip = finalFollower?.held.at(-1);
    if (finalTip?.hash !== ledger.finalized?.hash) return `a follower is at ${finalTip?.number}`;
    return undefined;
  }

  /** Returns what has not come to rest. */
  #unrest(): string | undefined {
    if (this.readers.size > 0) return 'a request has not ended';
    const alarms = this.service?.dataset?.alarms.list().map(({ code }) => code) ?? [];
    const raised = alarms.filter((code) => !lastingAlarms.has(code));
    if (raised.length > 0) return `alarms remain: ${raised.join()}`;
    const unused = this.model.current?.snapshot.unused ?? [];
    return unused.length > 0 ? `unused files remain: ${unused.join()}` : undefined;
  }

  #endAll(): void {
    this.service?.kill();
    this.#life.isOver = true;
    for (const { life } of [...this.readers, ...this.followers]) life.isOver = true;
  }
}

/** The longest pause of a source is its quarantine of a minute. */
const convergeSecondsMax = 180;
const stopSecondsMax = 30;
const restSecondsMax = 1_000;
/** One tells what happened and is not ended by its end. The other is right while the ledger stands still. */
const lastingAlarms: ReadonlySet<string> = new Set(['segment-damaged', 'finality-stalled']);
