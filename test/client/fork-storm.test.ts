/**
 * The client against the real service while the ledger forks, connections break and the service is killed. `npm run test:consumers`
 * runs a short storm; `npm run test:client` runs 10,000 blocks of it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  type Batch,
  type Block,
  type BlockRef,
  createClient,
} from '../../packages/client/src/client.ts';
import { fileCursor } from '../../packages/client/src/file-cursor.ts';
import { systemClock } from '../../packages/server/src/base/clock.ts';
import { StormWorld } from './storm-world.ts';

const blockCount = Number(process.env['STORM_BLOCKS'] ?? 120);
const seed = Number(process.env['STORM_SEED'] ?? 1);
const firstSlot = 90;
/** A tenth of the slots is skipped. */
const stormSlots = Math.ceil(blockCount / 0.9);
/** Forks end so long before the last slot that it cannot be replaced any more once it is read. */
const calmSlots = 60;
const slotMs = 400;

const folder = mkdtempSync(join(tmpdir(), 'sluice-consumers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Held extends BlockRef {
  readonly text: string;
}

/** What a consumer stored: nothing doubled, and a rollback names a block that it holds, or one below all of them. */
class Store {
  blocks: Held[] = [];
  rollbackCount = 0;
  depthMax = 0;

  take(batch: Batch): void {
    if (batch.kind === 'blocks') {
      for (const block of batch.blocks) this.#append(block);
      return;
    }
    const kept = this.blocks.filter(({ number }) => number <= batch.to.number);
    const same = kept.at(-1)?.number === batch.to.number ? kept.at(-1)?.hash : batch.to.hash;
    expect(same).toBe(batch.to.hash);
    this.rollbackCount++;
    this.depthMax = Math.max(this.depthMax, this.blocks.length - kept.length);
    this.blocks = kept;
  }

  #append({ header, ...records }: Block): void {
    const { number, hash } = header;
    expect(number).toBeGreaterThan(this.blocks.at(-1)?.number ?? -1);
    const text = JSON.stringify(records, (_, value) =>
      typeof value === 'bigint' ? `${value}` : value,
    );
    this.blocks.push({ number, hash, text });
  }

  /** Blocks with records; others are there only to mark how far a response went. */
  get matches(): readonly (readonly [number, string, string])[] {
    return this.blocks
      .filter(({ text }) => /\[\{/.test(text))
      .map(({ number, hash, text }) => [number, hash, text]);
  }
}

test(`behavior: after ${blockCount} blocks of forks, cuts and kills every consumer holds the chain (seed ${seed})`, async () => {
  const world = await StormWorld.start({
    seed,
    slotMs,
    // A start of the service takes longer than a hundred slots.
    killEverySlots: Math.max(60, Math.ceil(stormSlots / 20)),
    forkEverySlots: 8,
    forkDepthMax: 20,
    cutBytes: 30_000,
  });
  const toBlock = firstSlot + 10 + stormSlots + calmSlots;
  const retry = { firstMs: 20, maxMs: 200 };
  const open = () => createClient({ url: world.url, retry, stallMs: 10_000, timeoutMs: 10_000 });
  const every = { fromBlock: firstSlot, toBlock, includeAllBlocks: true } as const;
  const sparse = {
    fromBlock: firstSlot,
    toBlock,
    fields: { tokenBalance: { account: true, preAmount: true, postAmount: true } },
    tokenBalances: [{}],
  } as const;

  const readAll = async (store: Store) => {
    for await (const batch of open().stream(every)) store.take(batch as Batch);
  };
  /** Slow, so that the service cuts it off or it falls behind; its chain has holes. */
  const readSlowly = async (store: Store) => {
    const random = world.random.fork('slow');
    for await (const batch of open().stream(sparse)) {
      store.take(batch as Batch);
      await systemClock.sleep(random.below(150));
    }
  };
  /** Stopped and started again with its cursor; the last batch before a stop may come twice, and is then the same. */
  const readWithRestarts = async (store: Store) => {
    const random = world.random.fork('restarts');
    const cursor = fileCursor(join(folder, 'cursor.json'));
    while ((store.blocks.at(-1)?.number ?? 0) < toBlock) {
      let left = 1 + random.below(40);
      const stored = (await cursor.load())?.blocks.at(-1)?.number ?? -1;
      store.blocks = store.blocks.filter(({ number }) => number <= stored);
      let isDone = true;
      for await (const batch of open().stream({ ...every, type: 'solana' }, { cursor })) {
        store.take(batch as Batch);
        isDone = --left > 0;
        if (!isDone) break;
      }
      if (isDone) return;
    }
  };

  const stores = [new Store(), new Store(), new Store()] as const;
  try {
    const reading = Promise.all([
      readAll(stores[0]),
      readSlowly(stores[1]),
      readWithRestarts(stores[2]),
    ]);
    const isAtHead = (head: string) => stores[0].blocks.at(-1)?.hash === head;
    const storm = async () => {
      await world.rage(toBlock - calmSlots, isAtHead);
      world.node.ledger.time.advance((toBlock + calmSlots - world.slot) * slotMs);
    };
    await Promise.all([reading, storm()]);
    const expected = world.chain(firstSlot, toBlock);
    const refs = (store: Store) => store.blocks.map(({ number, hash }) => [number, hash]);
    expect(expected.length).toBeGreaterThan(blockCount * 0.9);
    expect(refs(stores[0])).toEqual(expected);
    expect(refs(stores[2])).toEqual(expected);
    const reference = new Store();
    const direct = createClient({ url: world.directUrl });
    for await (const batch of direct.stream(sparse, { finalized: true }))
      reference.take(batch as Batch);
    expect(reference.matches.length).toBeGreaterThan(blockCount / 3);
    expect(stores[1].matches).toEqual(reference.matches);
    // The run has shown something only if it met what it is about.
    const { relay, killCount, forkCount } = world;
    const rollbacks = stores.map(({ rollbackCount }) => rollbackCount);
    const depths = stores.map(({ depthMax }) => depthMax);
    const seen = { forkCount, killCount, cutCount: relay.cutCount, rollbacks, depths };
    process.stdout.write(`storm: ${JSON.stringify(seen)}
`);
    expect(rollbacks.reduce((sum, count) => sum + count)).toBeGreaterThan(5);
    expect(Math.max(...depths)).toBeGreaterThan(3);
    expect(killCount).toBeGreaterThan(0);
    expect(relay.cutCount).toBeGreaterThan(5);
  } finally {
    await world.close();
  }
}, 7_200_000);
