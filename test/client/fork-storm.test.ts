/**
 * The client with the real service while the ledger forks, connections break at random bytes and the service is killed. `npm run
 * test:consumers` runs a short storm; `npm run test:client` runs 10,000 blocks.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import type { Random } from '@sluice/base/random';
import { afterAll, expect, test } from 'vitest';
import { type Batch, type ClientEvent, createClient } from '../../packages/client/src/client.ts';
import { fileCursor } from '../../packages/client/src/file-cursor.ts';
import { HeldChain } from './held-chain.ts';
import { type ChainBlock, StormWorld } from './storm-world.ts';

const blockCount = Number(process.env['STORM_BLOCKS'] ?? 150);
const seed = Number(process.env['STORM_SEED'] ?? 1);
const firstSlot = 90;
/** A tenth of the slots is skipped. */
const stormSlots = Math.ceil(blockCount / 0.9);
/** Forks end this many slots before `toBlock`, so that the last block read is final. */
const calmSlots = 60;
const slotMs = 400;
const toBlock = firstSlot + 10 + stormSlots + calmSlots;

const folder = mkdtempSync(join(tmpdir(), 'sluice-consumers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const every = {
  fromBlock: firstSlot,
  toBlock,
  includeAllBlocks: true,
  fields: { transaction: { signatures: true } },
  transactions: [{}],
} as const;

/** Few blocks match, so the consumer's own chain has gaps. */
const sparse = {
  fromBlock: firstSlot,
  toBlock,
  fields: { tokenBalance: { account: true, preAmount: true, postAmount: true } },
  tokenBalances: [{}],
} as const;

/** One reader of the storm, with the faults that it saw. */
class Consumer {
  readonly name: string;
  readonly held = new HeldChain();
  requestCount = 0;
  failureCount = 0;
  readonly #url: string;

  constructor(name: string, url: string) {
    this.name = name;
    this.#url = url;
  }

  open() {
    const onEvent = ({ kind }: ClientEvent) => {
      if (kind === 'request') this.requestCount++;
      if (kind === 'retry') this.failureCount++;
    };
    const retry = { firstMs: 20, maxMs: 200 };
    return createClient({ url: this.#url, retry, stallMs: 10_000, timeoutMs: 10_000, onEvent });
  }

  async readAll(): Promise<void> {
    for await (const batch of this.open().stream(every)) this.held.take(batch as Batch);
  }

  /** Takes up to 150 ms for a batch, so that it falls behind the head and the service waits for it. */
  async readSlowly(random: Random): Promise<void> {
    for await (const batch of this.open().stream(sparse)) {
      this.held.take(batch as Batch);
      await systemClock.sleep(random.below(150));
    }
  }

  /** Stops after some batches and starts again from its cursor. Uses the solana dialect. */
  async readWithRestarts(random: Random): Promise<void> {
    const cursor = fileCursor(join(folder, 'cursor.json'));
    for (let isDone = false; !isDone; ) {
      this.held.cutTo((await cursor.load())?.blocks.at(-1)?.number ?? -1);
      let left = 1 + random.below(40);
      isDone = true;
      for await (const batch of this.open().stream({ ...every, type: 'solana' }, { cursor })) {
        this.held.take(batch as Batch);
        if (--left > 0) continue;
        isDone = false;
        break;
      }
    }
  }
}

/** Compares hashes and contents with the node's own blocks. */
function expectChain({ held }: Consumer, chain: readonly ChainBlock[]): void {
  const read = held.blocks.map(({ number, hash, text }) => {
    const { transactions = [] } = JSON.parse(text) as {
      transactions?: { signatures: string[] }[];
    };
    return { number, hash, signatures: transactions.map(({ signatures }) => signatures[0]) };
  });
  // Long lists are shown incompletely, so the differences come first.
  const hashes = new Set(read.map(({ hash }) => hash));
  const expected = new Set(chain.map(({ hash }) => hash));
  expect({
    missing: chain.filter(({ hash }) => !hashes.has(hash)).map(({ number }) => number),
    foreign: read.filter(({ hash }) => !expected.has(hash)).map(({ number }) => number),
  }).toEqual({ missing: [], foreign: [] });
  expect(read).toEqual(chain);
}

function printTable(world: StormWorld, consumers: readonly Consumer[], chainLength: number): void {
  const { forkDepths, killCount, relay } = world;
  const rows = consumers.map(({ name, held, requestCount, failureCount }) => ({
    consumer: name,
    blocks: held.blocks.length,
    batches: held.batchCount,
    rollbacks: held.rollbackCount,
    'deepest rollback': held.depthMax,
    requests: requestCount,
    'failed requests': failureCount,
  }));
  const names = Object.keys(rows[0] ?? {});
  const lines = [names, names.map(() => '---'), ...rows.map((row) => Object.values(row))];
  const met = [
    `${chainLength} blocks on the final chain`,
    `${forkDepths.length} forks of depth ${Math.min(...forkDepths)} to ${Math.max(...forkDepths)}`,
    `${relay.cutCount} connections cut at a random byte`,
    `${killCount} kills (SIGKILL) and restarts of the service`,
  ];
  const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  process.stdout.write(`\nstorm, seed ${seed}: ${met.join(', ')}\n\n${table}\n\n`);
}

test(`behavior: after ${blockCount} blocks of forks, broken connections and kills every consumer has the chain (seed ${seed})`, async () => {
  const world = await StormWorld.start({
    seed,
    slotMs,
    killEverySlots: Math.max(60, Math.ceil(stormSlots / 20)),
    forkEverySlots: 12,
    forkDepthMax: 20,
    burstSlotsMax: 8,
    cutBytes: 30_000,
  });
  const consumers = ['follows', 'slow and sparse', 'restarts, solana'] as const;
  const [follower, slow, restarted] = consumers.map((name) => new Consumer(name, world.url)) as [
    Consumer,
    Consumer,
    Consumer,
  ];
  try {
    const isAtHead = (head: string) => follower.held.blocks.at(-1)?.hash === head;
    const storm = async () => {
      await world.runUntil(toBlock - calmSlots, isAtHead);
      world.node.ledger.time.advance((toBlock + calmSlots - world.slot) * slotMs);
    };
    await Promise.all([
      storm(),
      follower.readAll(),
      slow.readSlowly(world.random.fork('slow')),
      restarted.readWithRestarts(world.random.fork('restarts')),
    ]);

    const chain = await world.readChain(firstSlot, toBlock);
    printTable(world, [follower, slow, restarted], chain.length);
    expect(chain.length).toBeGreaterThan(blockCount * 0.9);
    expectChain(follower, chain);
    expectChain(restarted, chain);
    const reference = new HeldChain();
    const direct = createClient({ url: world.directUrl });
    for await (const batch of direct.stream(sparse, { finalized: true }))
      reference.take(batch as Batch);
    expect(reference.matches.length).toBeGreaterThan(blockCount / 3);
    expect(slow.held.matches).toEqual(reference.matches);

    // The run is only meaningful if all faults occurred.
    for (const { held, failureCount } of [follower, slow, restarted]) {
      expect(held.rollbackCount).toBeGreaterThan(blockCount / 100);
      expect(failureCount).toBeGreaterThan(5);
    }
    expect(follower.held.depthMax).toBeGreaterThan(10);
    expect(world.killCount).toBeGreaterThan(0);
    expect(world.relay.cutCount).toBeGreaterThan(20);
  } finally {
    await world.close();
  }
}, 7_200_000);
