/** One simulated world: a ledger, its sources, machines with the service, and clients. A seed decides everything that happens. */
import { createHash } from 'node:crypto';
import { watchAssertions } from '@sluice/base/assert';
import { Random } from '@sluice/base/random';
import type { ChainSnapshot } from '../../packages/server/src/chain/chain-snapshot.ts';
import { Follower } from './follower.ts';
import { Ledger } from './ledger.ts';
import { Machine } from './machine.ts';
import { must, Violation } from './model.ts';
import { makeQueries, Reader, type ReaderDependencies, type ReadPlan } from './reader.ts';
import { RemoteServers } from './remote.ts';
import { type Life, Scheduler } from './scheduler.ts';
import { chooseSettings, type StorageKind } from './settings.ts';
import { SourceState } from './source.ts';

export interface WorldOptions {
  readonly seed: number;
  /** The number of events: operations of the disk, messages, timers, calls of sources. */
  readonly steps: number;
  /** Where the dataset is; chosen by the seed if it is absent. */
  readonly storage?: StorageKind | undefined;
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

const readerCountMax = 6;

export class World {
  readonly scheduler = new Scheduler();
  readonly random: Random;
  readonly ledger: Ledger;
  readonly sources: readonly SourceState[];
  readonly servers = new RemoteServers();
  readonly machines: readonly Machine[];
  readonly queries;
  readonly readers = new Set<Reader>();
  readonly followers: readonly Follower[];
  readonly counts = new Map<string, number>();
  /** The hashes of blocks that the ledger has or had, also on branches that were left. The readers look them up. */
  readonly seenHashes: string[] = [];
  readonly #options: WorldOptions;
  readonly #hash = createHash('sha256');
  #failure: Error | undefined;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.random = Random.fromSeed(options.seed);
    const chosen = chooseSettings(this.random.fork('settings'), options.storage);
    this.ledger = new Ledger(this.random.fork('ledger'));
    for (let i = 0; i < chosen.firstBlockCount; i++) this.ledger.produce(i % 11 === 0 ? 2 : 0);
    this.ledger.finalize(8);
    this.sources = Array.from(
      { length: chosen.sourceCount },
      (_, i) => new SourceState(`source-${i}`, this.ledger),
    );
    this.queries = makeQueries(this.ledger);
    const { scheduler, ledger, sources, servers } = this;
    const note = (event: string) => this.note(event);
    const fail = (error: Error) => this.fail(error);
    const shared = { scheduler, ledger, sources, servers, note, fail };
    this.machines = chosen.machines.map(
      (settings, i) =>
        new Machine(
          { name: `machine-${i}`, seed: options.seed + i, settings },
          { ...shared, random: this.random.fork('machine', i) },
        ),
    );
    this.followers = [false, true].map((isFinal, i) => {
      const random = this.random.fork('follower', i);
      const connect = (client: Life) => random.pick(this.machines).service?.connect(client);
      const start = () => Math.max(...this.machines.map(({ model }) => model.current?.start ?? 0));
      return new Follower(isFinal, { scheduler, ledger, note, random, connect, start });
    });
    this.scheduler.afterEvent = () => this.#observe();
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
      for (const machine of this.machines) machine.start();
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

  read(plan: ReadPlan, machine: Machine): void {
    if (this.readers.size >= readerCountMax) return;
    const reader = new Reader(plan, this.#readerOf(machine));
    this.readers.add(reader);
    this.#watch(reader.run().finally(() => this.readers.delete(reader)));
  }

  /** Runs a check of one response in the background. */
  check(machine: Machine, run: (dependencies: ReaderDependencies) => Promise<void>): void {
    this.#watch(run(this.#readerOf(machine)));
  }

  #readerOf(machine: Machine): ReaderDependencies {
    const { scheduler } = this;
    const { model, mayFail, mayLag } = machine;
    const connect = (client: Life) => machine.service?.connect(client);
    return { scheduler, model, mayFail, mayLag, connect, note: (event) => this.note(event) };
  }

  #watch(running: Promise<void>): void {
    running.catch((error: unknown) => {
      this.fail(error instanceof Error ? error : new Error(String(error)));
    });
  }

  #observe(): void {
    for (const machine of this.machines) {
      machine.observe();
      const { head, snapshot } = machine.model.current ?? {};
      if (head != null && snapshot !== undefined)
        this.seenHashes[snapshot.version % 32] = head.hash;
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ends all faults. From then on everything must recover by itself. */
  heal(): void {
    this.servers.heal();
    for (const machine of this.machines) machine.heal();
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
    const { ledger, machines } = this;
    const lag = machines.map((machine) => machine.lag()).find((text) => text !== undefined);
    if (lag !== undefined) return lag;
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
    const states = new Set(this.machines.map(({ model }) => sealedOf(model.current?.snapshot)));
    if (states.size > 1) return 'two machines have different segments';
    return this.machines.map((machine) => machine.unrest()).find((text) => text !== undefined);
  }

  #endAll(): void {
    for (const machine of this.machines) machine.end();
    for (const { life } of [...this.readers, ...this.followers]) life.isOver = true;
  }
}

/** The longest pause of a source is its quarantine of a minute. */
const convergeSecondsMax = 180;
const restSecondsMax = 1_000;

function sealedOf(snapshot: ChainSnapshot | undefined): string | undefined {
  return snapshot?.segments.map(({ id }) => id).join();
}
