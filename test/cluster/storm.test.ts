/**
 * A cluster with random kills, pauses and network failures: 2 writers, 3 readers, 3 NATS servers, 1 object store, a ledger with forks,
 * and consumers with the client library on every reader. Every kind of process is killed, and paused and resumed; writers and readers are
 * also stopped, and disconnected from NATS or the store. CLUSTER_SECONDS is the duration, 60 by default.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Batch, type Block, createClient } from '../../packages/client/src/client.ts';
import { waitUntil } from './services/child.ts';
import { ClusterMember } from './services/member.ts';
import { type Relay, startRelay } from './services/relay.ts';
import type { S3Process } from './services/s3-process.ts';
import { type NatsCluster, startNats } from './services/start-nats.ts';
import { type S3Server, startOwnS3 } from './services/start-s3.ts';

const seconds = Number(process.env['CLUSTER_SECONDS'] ?? 60);
const seed = Number(process.env['CLUSTER_SEED'] ?? 1);
const everyMs = 5_000;
const pauseMs = Math.min(30_000, (seconds * 1_000) / 3);
/** Nothing can start without the store, so there is no other fault during its pause, which is short in a short run. */
const storePauseMs = Math.min(30_000, (seconds * 1_000) / 8);
const cutMs = 8_000;
const recoverMs = 8_000;
/**
 * How long the head may stand still: by faults of writers and readers, and by those of shared servers. On a machine on
 * which the processes of the cluster take longer than a few seconds to start, the limit is a multiple of that time.
 */
const [stillMsMax, stillSharedMsMax] = [10_000, 30_000];
const [stillStartsMax, stillSharedStartsMax] = [1.5, 4.5];
const slotMs = 300;
const startSlot = 200;

const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
const random = Random.fromSeed(seed).fork('cluster');
let node: Awaited<ReturnType<typeof startSimulatedNode>>;
let s3: S3Server & S3Process;
let nats: NatsCluster;
let writers: ClusterMember[] = [];
let readers: ClusterMember[] = [];
let balancer: Relay;
/** How long it took until all processes had started and served a head: a measure of the machine. */
let startMs = 0;

beforeAll(async () => {
  [s3, nats] = await Promise.all([startOwnS3(join(folder, 's3')), startNats(folder, 3)]);
  node = await startSimulatedNode(
    {
      chain: { seed, startSlot, slotMs, skipRate: 0.1, forkRate: 0.1, forkDepthMax: 8 },
      content: { transactionsPerBlock: 2, votes: 0, epochRewardsPerBlock: 0 },
    },
    { clock: systemClock },
  );
  const beganMs = performance.now();
  const start = (name: string, role: 'write' | 'read') =>
    ClusterMember.start({
      name,
      role,
      folder,
      rpcUrl: node.rpcUrl,
      s3,
      nats,
      store: { segmentBlockCount: 32, requestMsMax: 2_000 },
    });
  writers = await Promise.all([start('writer-1', 'write'), start('writer-2', 'write')]);
  readers = await Promise.all(
    ['reader-1', 'reader-2', 'reader-3'].map((name) => start(name, 'read')),
  );
  for (const reader of readers) await reader.untilHead(startSlot - 20);
  startMs = performance.now() - beganMs;
  // Each connection goes to another reader.
  let next = 0;
  balancer = await startRelay(() => Number(new URL(readers[next++ % 3]?.url ?? '').port));
});
afterAll(async () => {
  balancer?.close();
  await Promise.all([...writers, ...readers].map((member) => member.close()));
  await node?.close();
  await nats?.stop();
  await s3?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The blocks of a consumer. Every batch is checked on arrival: ascending, linked, and rolled back only to a block that it has. */
class Consumer {
  readonly name: string;
  blocks: { number: number; hash: string; parentHash: string | null }[] = [];
  rollbackCount = 0;
  readonly #stop = new AbortController();
  readonly running: Promise<void>;
  readonly faults: string[] = [];

  constructor(name: string, url: string) {
    this.name = name;
    this.running = this.#run(url);
  }

  get last(): number {
    return this.blocks.at(-1)?.number ?? -1;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(url: string): Promise<void> {
    const client = createClient({
      url,
      retry: { firstMs: 50, maxMs: 500 },
      stallMs: 10_000,
      timeoutMs: 10_000,
    });
    const query = {
      fromBlock: 0,
      includeAllBlocks: true,
      fields: { block: { number: true, hash: true, parentHash: true } },
    } as const;
    try {
      for await (const batch of client.stream(query, { signal: this.#stop.signal }))
        this.#take(batch as Batch);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.faults.push(String(error));
    }
  }

  #take(batch: Batch): void {
    if (batch.kind === 'blocks') {
      for (const { header } of batch.blocks as readonly Block[]) {
        const {
          number,
          hash,
          parentHash = null,
        } = header as { number: number; hash: string; parentHash?: string };
        const before = this.blocks.at(-1);
        if (before !== undefined && before.number >= number) this.faults.push(`doubled ${number}`);
        if (before !== undefined && parentHash !== before.hash)
          this.faults.push(`unlinked ${number}`);
        this.blocks.push({ number, hash, parentHash });
      }
      return;
    }
    const { to } = batch;
    const kept = this.blocks.filter(({ number }) => number <= to.number);
    if (kept.at(-1)?.number === to.number && kept.at(-1)?.hash !== to.hash)
      this.faults.push(`mixed ${to.number}`);
    this.rollbackCount++;
    this.blocks = kept;
  }
}

interface Action {
  readonly name: string;
  /** The faulty component. A group has one fault at a time. */
  readonly group: string;
  /** Whether all processes share this server. The head may stop for as long as it is down. */
  readonly isShared?: boolean;
  readonly run: () => void;
  readonly undo?: () => void;
  readonly forMs?: number;
  /** The process that must serve again before the next fault of the group. Without it a second fault could meet the only writer. */
  readonly member?: ClusterMember;
}

const memberKinds = ['kill -9', 'stop', 'pause', 'cut off NATS', 'cut off S3'] as const;

interface Step {
  readonly kind: string;
  readonly target: 'writer' | 'reader' | 'NATS' | 'S3';
}

/** Every kind of fault affects the process that writes, a reader, a NATS server and the store; then again in another order. */
function* drawSteps(): Generator<Step> {
  for (;;) {
    const steps = memberKinds.flatMap((kind) => [
      { kind, target: 'writer' as const },
      { kind, target: 'reader' as const },
    ]);
    const shared = ['kill -9', 'pause'].flatMap((kind) => [
      { kind, target: 'NATS' as const },
      { kind, target: 'S3' as const },
    ]);
    const round: Step[] = [...steps, ...shared];
    while (round.length > 0) yield round.splice(random.below(round.length), 1)[0] as Step;
  }
}

async function findLeader(): Promise<ClusterMember> {
  for (const writer of writers) if (await writer.isLeading()) return writer;
  return random.pick(writers);
}

async function buildAction({ kind, target }: Step): Promise<Action> {
  if (target === 'NATS') return breakNats(kind, random.below(3));
  if (target === 'S3') return breakStore(kind);
  const member = target === 'writer' ? await findLeader() : random.pick(readers);
  const name = `${kind} ${member.name}`;
  const group = target === 'writer' ? 'writer' : member.name;
  const relays = kind === 'cut off S3' ? [member.s3Relay] : member.natsRelays;
  switch (kind) {
    case 'kill -9':
      return { name, group, member, run: () => member.signal('SIGKILL') };
    case 'stop':
      return { name, group, member, run: () => member.signal('SIGTERM') };
    case 'pause': {
      const [run, undo] = [() => member.signal('SIGSTOP'), () => member.signal('SIGCONT')];
      return { name, group, member, forMs: pauseMs, run, undo };
    }
    default: {
      const run = () => {
        for (const relay of relays) relay.cut();
      };
      const undo = () => {
        for (const relay of relays) relay.heal();
      };
      return { name, group, member, forMs: cutMs, run, undo };
    }
  }
}

function breakNats(kind: string, i: number): Action {
  const server = nats.servers[i];
  const name = `${kind} NATS ${i + 1}`;
  const shared = { name, group: 'NATS', isShared: true };
  if (kind === 'pause') {
    const signal = (one: NodeJS.Signals) => void server?.child.process.kill(one);
    return {
      ...shared,
      forMs: pauseMs,
      run: () => signal('SIGSTOP'),
      undo: () => signal('SIGCONT'),
    };
  }
  return {
    ...shared,
    forMs: 3_000,
    run: () => void server?.child.stop('SIGKILL'),
    undo: () => server?.restart(),
  };
}

function breakStore(kind: string): Action {
  const shared = { name: `${kind} S3`, group: 'S3', isShared: true };
  if (kind === 'pause') {
    const [run, undo] = [() => s3.signal('SIGSTOP'), () => s3.signal('SIGCONT')];
    return { ...shared, forMs: storePauseMs, run, undo };
  }
  return { ...shared, forMs: 3_000, run: () => s3.signal('SIGKILL'), undo: () => s3.restart() };
}

/** The longest times in which no reader had a newer head: with faults of writers and readers, and with faults of shared servers. */
class HeadWatch {
  longestMs = 0;
  longestSharedMs = 0;
  /** The last faults before the end of each of these two times, newest first, with the time of day. */
  longestAfter = '';
  longestSharedAfter = '';
  /** The faults so far. */
  readonly faults: string[] = [];
  /** The number of faults of shared servers that are active or have just ended. */
  sharedCount = 0;
  #head = 0;
  #sinceMs = performance.now();
  #wasShared = false;
  #isStopped = false;
  readonly running = this.#run();

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const heads = await Promise.all(readers.map((reader) => reader.readHead()));
      const head = Math.max(...heads.map((one) => one ?? 0));
      this.#note(head, performance.now());
      await systemClock.sleep(100);
    }
  }

  #note(head: number, nowMs: number): void {
    if (this.sharedCount > 0) this.#wasShared = true;
    const elapsedMs = nowMs - this.#sinceMs;
    if (this.#wasShared && elapsedMs > this.longestSharedMs) {
      this.longestSharedMs = elapsedMs;
      this.longestSharedAfter = this.#describeLast();
    }
    if (!this.#wasShared && elapsedMs > this.longestMs) {
      this.longestMs = elapsedMs;
      this.longestAfter = this.#describeLast();
    }
    if (head <= this.#head) return;
    this.#head = head;
    this.#sinceMs = nowMs;
    this.#wasShared = this.sharedCount > 0;
  }

  #describeLast(): string {
    const time = new Date(systemClock.unixMs()).toISOString().slice(11, 19);
    return `${this.faults.slice(-3).reverse().join(', ')} at ${time}`;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.running;
  }
}

/** Starts a fault every few seconds and ends it after a while. */
async function injectFaults(watch: HeadWatch): Promise<void> {
  const repairs = new Set<Promise<void>>();
  const broken = new Set<string>();
  const endMs = performance.now() + seconds * 1_000;
  const repair = async (action: Action) => {
    await systemClock.sleep(action.forMs ?? 0);
    action.undo?.();
    // The group has time to recover before its next fault starts.
    await systemClock.sleep(recoverMs);
    const { member } = action;
    if (member !== undefined)
      await waitUntil(
        `${member.name} serves again`,
        async () => (await member.readHead()) !== undefined,
      );
    broken.delete(action.group);
    if (action.isShared === true) watch.sharedCount--;
  };
  for (const step of drawSteps()) {
    if (performance.now() >= endMs) break;
    if (step.target === 'S3') await Promise.all(repairs);
    const action = await buildAction(step);
    if (broken.has(action.group)) continue;
    watch.faults.push(action.name);
    broken.add(action.group);
    if (action.isShared === true) watch.sharedCount++;
    action.run();
    const repairing = repair(action).finally(() => repairs.delete(repairing));
    repairs.add(repairing);
    if (step.target === 'S3') await repairing;
    else await systemClock.sleep(everyMs);
  }
  await Promise.all(repairs);
}

function expectedChain(last: number): (readonly [number, string])[] {
  const blocks: (readonly [number, string])[] = [];
  for (let slot = 0; slot <= last; slot++) {
    const block = node.ledger.chain.blockAt(slot);
    if (block !== undefined) blocks.push([slot, block.blockhash]);
  }
  return blocks;
}

test(`behavior: ${seconds} s of kills, pauses and network failures lose, duplicate and mix no block (seed ${seed})`, async () => {
  const urls = readers.map(({ name, url }) => [name, url] as const);
  const consumers = [
    ...urls,
    ['balanced', `http://127.0.0.1:${balancer.port}/datasets/ledger`] as const,
  ].map(([name, url]) => new Consumer(name, url));
  const watch = new HeadWatch();
  await injectFaults(watch);
  const target = node.state().finalizedSlot;
  await Promise.all(
    consumers.map((consumer) =>
      waitUntil(
        `${consumer.name} reaches ${target}`,
        () => consumer.last >= target + 40 || consumer.faults.length > 0,
      ).catch((error: Error) => consumer.faults.push(error.message)),
    ),
  );
  await watch.stop();
  for (const consumer of consumers) consumer.stop();
  await Promise.all(consumers.map(({ running }) => running));
  const expected = expectedChain(target);
  const rows = consumers.map(({ name, blocks, rollbackCount, faults }) => {
    const held = blocks
      .filter(({ number }) => number <= target)
      .map(({ number, hash }) => [number, hash]);
    const isEqual = JSON.stringify(held) === JSON.stringify(expected);
    return {
      consumer: name,
      blocks: held.length,
      expected: expected.length,
      equal: isEqual,
      rollbacks: rollbackCount,
      faults: faults.join('; '),
    };
  });
  const report = [
    `${seconds} s, seed ${seed}: ${watch.faults.length} faults: ${watch.faults.join(', ')}`,
    ...rows.map((row) =>
      Object.entries(row)
        .map((entry) => entry.join(' '))
        .join(', '),
    ),
    [...writers, ...readers]
      .map(({ name, startCount }) => `${name} started ${startCount} times`)
      .join(', '),
    `the head stood still for ${Math.round(watch.longestMs)} ms at most (after ${watch.longestAfter}), and for ${Math.round(watch.longestSharedMs)} ms with a NATS server or the store gone (after ${watch.longestSharedAfter}); the processes had started within ${Math.round(startMs)} ms`,
  ];
  process.stdout.write(`${report.join('\n')}\n`);
  const [stillMax, stillSharedMax] = [
    Math.max(stillMsMax, startMs * stillStartsMax),
    Math.max(stillSharedMsMax, startMs * stillSharedStartsMax),
  ];
  const isRight =
    rows.every(({ equal, faults }) => equal && faults === '') &&
    watch.longestMs < stillMax &&
    watch.longestSharedMs < stillSharedMax;
  if (!isRight)
    for (const { name, output } of [...writers, ...readers])
      process.stdout.write(`${name}: ${output.slice(-3_000)}\n`);
  for (const row of rows) expect(row).toMatchObject({ equal: true, faults: '' });
  expect(rows.some(({ rollbacks }) => rollbacks > 0)).toBe(true);
  expect(watch.longestMs).toBeLessThan(stillMax);
  expect(watch.longestSharedMs).toBeLessThan(stillSharedMax);
});
