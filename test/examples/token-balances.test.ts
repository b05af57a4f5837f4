/** A short test of the example that users copy first, with PGlite and the real service, for every `npm test`. */
import { expect, test } from 'vitest';
import { createClient } from '../../packages/client/src/client.ts';
import { StormWorld } from '../client/storm-world.ts';
import { compileExamples, ExampleProcess } from './example-process.ts';
import { expectBalances } from './expect-balances.ts';
import { startPglite } from './pglite-server.ts';

const firstSlot = 80;
const stormEnd = 120;
/** Forks end this many slots before the last slot, so that the last block read is final. */
const calmSlots = 45;
const toBlock = stormEnd + calmSlots;
const slotMs = 400;

test('behavior: token balances in PostgreSQL equal the chain after forks and a restart of everything', async () => {
  compileExamples();
  const database = await startPglite();
  const world = await StormWorld.start({
    seed: 3,
    slotMs,
    killEverySlots: Number.POSITIVE_INFINITY,
    forkEverySlots: 4,
    forkDepthMax: 10,
    burstSlotsMax: 4,
    cutBytes: 200_000,
  });
  const example = new ExampleProcess('token-balances', {
    SLUICE_URL: world.url,
    DATABASE_URL: database.url,
    FROM_BLOCK: String(firstSlot),
    TO_BLOCK: String(toBlock),
  });
  try {
    example.start();
    let tip = '';
    let rollbackCount = 0;
    const every = { fromBlock: firstSlot, toBlock, includeAllBlocks: true };
    const client = createClient({ url: world.url, retry: { firstMs: 20, maxMs: 200 } });
    const following = (async () => {
      for await (const batch of client.stream(every)) {
        tip = batch.cursor.blocks.at(-1)?.hash ?? '';
        if (batch.kind === 'rollback') rollbackCount++;
      }
    })();
    const isAtHead = (head: string) => tip === head;
    await world.runUntil((world.slot + stormEnd) / 2, isAtHead);
    await example.kill();
    await world.restart();
    example.start();
    await world.runUntil(stormEnd, isAtHead);
    world.node.ledger.time.advance((toBlock + calmSlots - world.slot) * slotMs);
    await Promise.all([example.finish(), following]);
    await expectBalances(world.directUrl, database, { first: firstSlot, last: toBlock });
    expect(rollbackCount).toBeGreaterThan(0);
  } finally {
    await example.kill();
    await world.close();
    await database.close();
  }
});
