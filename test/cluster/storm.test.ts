/**
 * A cluster under random kills, pauses and cuts: 2 writers, 3 readers, 3 NATS servers, 1 object store, a ledger with
 * forks, and consumers with the client library on every reader. CLUSTER_SECONDS is how long it lasts, 60 by default.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Batch, type Block, createClient } from '../../packages/client/src/client.ts';
import { systemClock } from '../../packages/server/src/base/clock.ts';
import { Random } from '../../packages/server/src/base/random.ts';
import { startSimulatedNode } from '../../packages/server/src/simulator/start-simulated-node.ts';
import { waitUntil } from './services/child.ts';
import { ClusterMember } from './services/member.ts';
import { type Relay, startRelay } from './services/relay.ts';
import { type NatsCluster, startNats } from './services/start-nats.ts';
import { type S3Server, startS3 } from './services/start-s3.ts';

const seconds = Number(process.env['CLUSTER_SECONDS'] ?? 60);
const seed = Number(process.env['CLUSTER_SEED'] ?? 1);
const everyMs = 5_000;
const pauseMs = Math.min(30_000, (seconds * 1_000) / 3);
const cutMs = 8_000;
const recoverMs = 8_000;
const slotMs = 300;
const startSlot = 200;

const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
const random = Random.fromSeed(seed).fork('cluster');
let node: Awaited<ReturnType<typeof startSimulatedNode>>;
let s3: S3Server;
let nats: NatsCluster;
let writers: ClusterMember[] = [];
let readers: ClusterMember[] = [];
let balancer: Relay;

beforeAll(async () => {
  const [store, servers] = await Promise.all([startS3(join(folder, 's3')), startNats(folder, 3)]);
  if (store === undefined) throw new Error('no object store is installed: docs/scale.md says how');
  if (servers === undefined)
    throw new Error('nats-server is not installed: docs/scale.md says how');
  [s3, nats] = [store, servers];
  node = await startSimulatedNode(
    {
      chain: { seed, startSlot, slotMs, skipRate: 0.1, forkRate: 0.1, forkDepthMax: 8 },
      content: { transactionsPerBlock: 2, votes: 0, epochRewardsPerBlock: 0 },
    },
    { clock: systemClock },
  );
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

/** What a consumer holds. Every batch is checked as it comes: ascending, linked, and rolled back only to what it holds. */
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
  /** What is broken; one thing of a group at a time. */
  readonly group: string;
  readonly run: () => void;
  readonly undo?: () => void;
  readonly forMs?: number;
}

const memberKinds = ['kill -9', 'stop', 'pause', 'cut off NATS', 'cut off S3'] as const;

/** Every kind of fault meets the process that writes, and a reader; then another round in another order. */
function* drawSteps(): Generator<{ kind: string; target: 'writer' | 'reader' | 'NATS' }> {
  for (;;) {
    const steps = memberKinds.flatMap((kind) => [
      { kind, target: 'writer' as const },
      { kind, target: 'reader' as const },
    ]);
    const round = [...steps, { kind: 'kill -9', target: 'NATS' as const }];
    while (round.length > 0)
      yield round.splice(random.below(round.length), 1)[0] as (typeof round)[number];
  }
}

async function findLeader(): Promise<ClusterMember> {
  for (const writer of writers) if (await writer.isLeading()) return writer;
  return random.pick(writers);
}

async function buildAction({ kind, target }: { kind: string; target: string }): Promise<Action> {
  if (target === 'NATS') return killNats(random.below(3));
  const member = target === 'writer' ? await findLeader() : random.pick(readers);
  const name = `${kind} ${member.name}`;
  const group = target === 'writer' ? 'writer' : member.name;
  const relays = kind === 'cut off S3' ? [member.s3Relay] : member.natsRelays;
  switch (kind) {
    case 'kill -9':
      return { name, group, run: () => member.signal('SIGKILL') };
    case 'stop':
      return { name, group, run: () => member.signal('SIGTERM') };
    case 'pause': {
      const [run, undo] = [() => member.signal('SIGSTOP'), () => member.signal('SIGCONT')];
      return { name, group, forMs: pauseMs, run, undo };
    }
    default: {
      const run = () => {
        for (const relay of relays) relay.cut();
      };
      const undo = () => {
        for (const relay of relays) relay.heal();
      };
      return { name, group, forMs: cutMs, run, undo };
    }
  }
}

function killNats(i: number): Action {
  const server = nats.servers[i];
  return {
    name: `kill -9 NATS ${i + 1}`,
    group: 'NATS',
    forMs: 3_000,
    run: () => void server?.child.stop('SIGKILL'),
    undo: () => server?.restart(),
  };
}

/** The longest times in which no reader had a newer head. */
class HeadWatch {
  longestMs = 0;
  #head = 0;
  #sinceMs = performance.now();
  #isStopped = false;
  readonly running = this.#run();

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const heads = await Promise.all(readers.map((reader) => reader.readHead()));
      const head = Math.max(...heads.map((one) => one ?? 0));
      const nowMs = performance.now();
      if (head > this.#head) {
        this.#head = head;
        this.#sinceMs = nowMs;
      }
      this.longestMs = Math.max(this.longestMs, nowMs - this.#sinceMs);
      await systemClock.sleep(100);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.running;
  }
}

/** Breaks something every few seconds and repairs it after a while. Returns what was done. */
async function rage(): Promise<string[]> {
  const done: string[] = [];
  const repairs: Promise<void>[] = [];
  const broken = new Set<string>();
  const endMs = performance.now() + seconds * 1_000;
  for (const step of drawSteps()) {
    if (performance.now() >= endMs) break;
    const action = await buildAction(step);
    if (broken.has(action.group)) continue;
    done.push(action.name);
    action.run();
    broken.add(action.group);
    const repair = async () => {
      await systemClock.sleep(action.forMs ?? 0);
      action.undo?.();
      // The next fault of the group comes when this one may be over.
      await systemClock.sleep(recoverMs);
      broken.delete(action.group);
    };
    repairs.push(repair());
    await systemClock.sleep(everyMs);
  }
  await Promise.all(repairs);
  return done;
}

function expectedChain(last: number): (readonly [number, string])[] {
  const blocks: (readonly [number, string])[] = [];
  for (let slot = 0; slot <= last; slot++) {
    const block = node.ledger.chain.blockAt(slot);
    if (block !== undefined) blocks.push([slot, block.blockhash]);
  }
  return blocks;
}

test(`behavior: ${seconds} s of kills, pauses and cuts lose, double and mix nothing (seed ${seed})`, async () => {
  const urls = readers.map(({ name, url }) => [name, url] as const);
  const consumers = [
    ...urls,
    ['balanced', `http://127.0.0.1:${balancer.port}/datasets/ledger`] as const,
  ].map(([name, url]) => new Consumer(name, url));
  const watch = new HeadWatch();
  const done = await rage();
  const target = node.state().finalizedSlot;
  await Promise.all(
    consumers.map((consumer) =>
      waitUntil(
        `${consumer.name} reaches ${target}`,
        () => consumer.last >= target + 40 || consumer.faults.length > 0,
        120_000,
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
    `${seconds} s, seed ${seed}: ${done.join(', ')}`,
    ...rows.map((row) =>
      Object.entries(row)
        .map((entry) => entry.join(' '))
        .join(', '),
    ),
    [...writers, ...readers]
      .map(({ name, startCount }) => `${name} started ${startCount} times`)
      .join(', '),
    `the head stood still for ${Math.round(watch.longestMs)} ms at most`,
  ];
  process.stdout.write(`${report.join('\n')}\n`);
  const isRight = rows.every(({ equal, faults }) => equal && faults === '');
  if (!isRight)
    for (const { name, output } of [...writers, ...readers])
      process.stdout.write(`${name}: ${output.slice(-3_000)}\n`);
  for (const row of rows) expect(row).toMatchObject({ equal: true, faults: '' });
  expect(rows.some(({ rollbacks }) => rollbacks > 0)).toBe(true);
  expect(watch.longestMs).toBeLessThan(10_000);
});
