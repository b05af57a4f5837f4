/** A machine: a disk, the processes that run on it one after the other, and a model of what they may show. */
import { createHash } from 'node:crypto';
import { isCodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import {
  type SimFault,
  SimFs,
  type SimOperation,
} from '../../packages/server/src/storage/testing/sim-fs.ts';
import { Model, must, Violation } from './model.ts';
import { Life } from './scheduler.ts';
import {
  datasetFolder,
  type ServiceDependencies,
  type ServiceSettings,
  SimulatedService,
} from './service.ts';

export interface MachineOptions {
  readonly name: string;
  readonly seed: number;
  readonly settings: ServiceSettings;
}

export interface MachineDependencies
  extends Pick<ServiceDependencies, 'scheduler' | 'ledger' | 'sources' | 'servers'> {
  readonly random: Random;
  readonly note: (event: string) => void;
  readonly fail: (error: Error) => void;
}

const restartMsMax = 2_000;
const stopSecondsMax = 30;
/** A request may fail so long after a fault. Requests to a bucket or a feed are repeated for some seconds. */
const failMsMax = { folder: 1_000, bucket: 30_000, cluster: 30_000 } as const;
const leftovers = ['left.segment', 'left.segment.tmp'].map(
  (name) => `${datasetFolder}/segments/${name}`,
);
/** A copy that was left behind by the feed may notice that long after the fault that delayed it. */
const gapMsMax = 600_000;

export class Machine {
  readonly disk = new SimFs();
  readonly model: Model;
  /** The repairs of damaged files, by path. */
  readonly damages = new Map<string, () => void>();
  /** Faults of the disk: the share of operations that fail, and how. */
  diskFault: { readonly kind: Exclude<SimFault, 'kill'>; readonly share: number } | undefined;
  slowMs = 5;
  service: SimulatedService | undefined;
  readonly name: string;
  readonly #options: MachineOptions;
  readonly #dependencies: MachineDependencies;
  readonly #life = new Life();
  /** It shows its last states until its connections are closed. */
  #stopping: SimulatedService | undefined;
  #processCount = 0;
  #brokenMs = 0;

  constructor(options: MachineOptions, dependencies: MachineDependencies) {
    this.name = options.name;
    this.#options = options;
    this.#dependencies = dependencies;
    this.model = new Model(dependencies.ledger, options.settings.retention);
    this.disk.fault = this.#faultOf;
  }

  /** Starts a process. If it cannot start, it is started again later, as a supervisor does. */
  start(): void {
    const { settings } = this.#options;
    const { random, scheduler, ledger, sources, servers } = this.#dependencies;
    const number = this.#processCount++;
    // A copy of a feed is made anew by each process, and counts its states anew.
    if (settings.storage === 'cluster') this.model.expectNewVersions();
    const service = new SimulatedService(settings, {
      name: `${this.name}-${number}`,
      disk: this.disk,
      slowMs: () => this.slowMs,
      random: random.fork('process', number),
      scheduler,
      ledger,
      sources,
      servers,
      onFailed: (error) => this.#ended(service, error),
    });
    this.service = service;
    service.start().catch((error: unknown) => this.#ended(service, error));
  }

  #ended(service: SimulatedService, error: unknown): void {
    if (service.life.isOver) return;
    const { note, fail } = this.#dependencies;
    note(`${this.name}: the process ended: ${error}`);
    const isGap = isCodedError(error, 'feed-gap') && this.mayFail(this.#nowMs - gapMsMax);
    if (!isCodedError(error)) fail(error instanceof Error ? error : new Error(String(error)));
    else if (!this.isBroken && !isGap) fail(new Violation(`the process ended: ${error.stack}`));
    this.kill();
  }

  /** Ends the process at once. It is started again after a while. */
  kill(): void {
    const { random, scheduler } = this.#dependencies;
    this.service?.kill();
    this.service = undefined;
    this.disk.restart();
    this.disk.fault = this.#faultOf;
    const waitMs = random.fork('restart', this.#processCount).unit() * restartMsMax;
    scheduler.schedule(waitMs, this.#life, () => this.start());
  }

  losePower(random: Random): void {
    this.disk.powerLoss(() => random.unit());
    this.disk.fault = this.#faultOf;
  }

  /** Suspends the process. */
  pause(ms: number): void {
    if (this.service !== undefined) this.service.life.pausedUntilMs = this.#nowMs + ms;
  }

  /** Stops the process properly. It is started again after a while. */
  async stop(): Promise<void> {
    const { service } = this;
    this.service = undefined;
    this.#stopping = service;
    if (service !== undefined) service.life.pausedUntilMs = 0;
    let isStopped = false;
    void service?.stop().then(() => {
      isStopped = true;
    });
    for (let second = 0; second < stopSecondsMax && !isStopped; second++)
      await this.#dependencies.scheduler.advance(1_000);
    must(isStopped, 'a process stops in time');
    this.#stopping = undefined;
    this.kill();
  }

  /** Stops the process, and makes its dataset one of format 2, which the next process upgrades. */
  async age(): Promise<void> {
    if (this.isBroken || this.#options.settings.storage !== 'folder') return;
    await this.stop();
    const { snapshot } = this.model.current ?? {};
    // That format has neither lists nor indexes.
    if (snapshot === undefined || snapshot.lists.length + snapshot.indexes.length > 0) return;
    const path = `${datasetFolder}/manifest.json`;
    const { checksum: _, ...content } = JSON.parse(Buffer.from(this.disk.readRaw(path)).toString());
    const older = { ...content, formatVersion: 2 };
    const checksum = createHash('sha256').update(JSON.stringify(older)).digest('hex');
    this.disk.writeRaw(path, Buffer.from(JSON.stringify({ ...older, checksum })));
    // A trim, or a crash between a file and its commit, left files that nothing describes.
    for (const name of leftovers) this.disk.writeRaw(name, new Uint8Array(1));
    this.#dependencies.note(`${this.name}: format 2`);
  }

  /** Whether something is broken now, so that requests may fail. */
  get isBroken(): boolean {
    const { service } = this;
    const dataset = service?.dataset;
    if (dataset === undefined || dataset.snapshot().start === null) return true;
    if (service !== undefined && service.life.pausedUntilMs >= this.#nowMs) return true;
    const usesServers = this.#options.settings.storage !== 'folder';
    if (usesServers && this.#dependencies.servers.isBroken) return true;
    return this.diskFault !== undefined || this.damages.size > 0;
  }

  readonly mayFail = (sinceMs: number): boolean =>
    this.#brokenMs >= sinceMs - failMsMax[this.#options.settings.storage];

  readonly mayLag = (sinceMs: number): boolean =>
    this.#options.settings.storage === 'cluster' && this.mayFail(sinceMs);

  /** Shows the state of the dataset to the model, if it is another one than before. */
  observe(): void {
    if (this.isBroken) this.#brokenMs = this.#nowMs;
    const snapshot = (this.service ?? this.#stopping)?.dataset?.snapshot();
    if (snapshot === undefined || snapshot === this.model.current?.snapshot) return;
    const { version, head, finalized } = snapshot;
    this.#dependencies.note(`${this.name} state ${version} ${head?.number} ${finalized?.number}`);
    this.model.observe(snapshot);
  }

  heal(): void {
    this.diskFault = undefined;
    this.slowMs = 5;
    this.disk.diskSpace = { freeBytes: 1e12, totalBytes: 2e12 };
    for (const repair of this.damages.values()) repair();
    this.damages.clear();
    if (this.service !== undefined) this.service.life.pausedUntilMs = 0;
  }

  /** Returns what has not recovered. */
  lag(): string | undefined {
    const { ledger } = this.#dependencies;
    const { current } = this.model;
    if (this.service?.dataset === undefined) return `${this.name} is not running`;
    if (current?.head !== ledger.head) return `the head of ${this.name} is ${current?.head?.slot}`;
    if (current.finalized !== (ledger.finalized ?? null))
      return `the finalized head of ${this.name} is ${current.finalized?.slot}`;
    if (this.service.ingester?.status.backfill != null) return 'the backfill is not complete';
    return undefined;
  }

  /** Returns what has not come to rest. */
  unrest(): string | undefined {
    const alarms = this.service?.dataset?.alarms.list().map(({ code }) => code) ?? [];
    const raised = alarms.filter((code) => !lastingAlarms.has(code));
    if (raised.length > 0) return `alarms of ${this.name} remain: ${raised.join()}`;
    // Objects of a bucket are removed after an hour.
    if (this.#options.settings.storage !== 'folder') return undefined;
    const left = this.disk.paths().find((path) => leftovers.includes(path));
    if (left !== undefined) return `an upgrade has not removed ${left}`;
    const unused = this.model.current?.snapshot.unused ?? [];
    return unused.length > 0 ? `unused files remain: ${unused.join()}` : undefined;
  }

  end(): void {
    this.service?.kill();
    this.#life.isOver = true;
  }

  get #nowMs(): number {
    return this.#dependencies.scheduler.nowMs;
  }

  /** The same operation always has the same fate. */
  readonly #faultOf = ({ name, index }: SimOperation) => {
    const { diskFault } = this;
    if (diskFault === undefined || name === 'close') return undefined;
    const isWrite = name !== 'read' && name !== 'list' && name !== 'size' && name !== 'space';
    if (diskFault.kind !== 'EIO' && !isWrite) return undefined;
    const fate = Math.imul(index + this.#processCount * 977 + this.#options.seed, 0x9e3779b1) >>> 0;
    return fate < diskFault.share * 2 ** 32 ? diskFault.kind : undefined;
  };
}

/** Alarms that may remain: `segment-damaged` stays after the damage is repaired, and `finality-stalled` is correct while the simulated ledger makes no blocks. */
const lastingAlarms: ReadonlySet<string> = new Set(['segment-damaged', 'finality-stalled']);
