/** Runs the examples as processes that are killed and restarted while the ledger forks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClient } from '../../packages/client/src/client.ts';
import { StormWorld } from '../client/storm-world.ts';
import { repositoryRoot } from '../repository-files.ts';
import { compileExamples, ExampleProcess } from './example-process.ts';
import { expectBalances } from './expect-balances.ts';
import { startPglite } from './pglite-server.ts';
import { hasPostgres, startPostgres } from './postgres-server.ts';

const firstSlot = 60;
const toBlock = 220;
/** Forks end this many slots before the last slot, so that the last block read is final. */
const calmSlots = 60;
const slotMs = 400;
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

test('limit: each example is shorter than 120 lines', () => {
  const files = readdirSync(join(repositoryRoot, 'examples')).filter((name) =>
    name.endsWith('.ts'),
  );
  expect(files).toHaveLength(2);
  for (const file of files) {
    const text = readFileSync(join(repositoryRoot, 'examples', file), 'utf8');
    expect(text.split('\n').length, file).toBeLessThanOrEqual(120);
  }
});

interface Call {
  readonly transactionIndex: number;
  readonly instructionAddress: readonly number[];
}

async function readTransfers(url: string): Promise<string[]> {
  const query = {
    fromBlock: firstSlot,
    toBlock,
    fields: { instruction: { transactionIndex: true, instructionAddress: true } },
    instructions: [{ programId: tokenProgram, isCommitted: true, d1: ['0x03', '0x0c'] }],
  } as const;
  const calls: string[] = [];
  for await (const batch of createClient({ url }).stream(query, { finalized: true })) {
    if (batch.kind === 'blocks') for (const block of batch.blocks) calls.push(...namesOf(block));
  }
  return calls;
}

function namesOf(block: { header: { number: number }; instructions: readonly Call[] }): string[] {
  return block.instructions.map(
    (call) =>
      `${block.header.number}/${call.transactionIndex}/${call.instructionAddress.join('.')}`,
  );
}

/** The records of a page that follows the rules in the first lines of the example. */
class Page {
  blocks: { header: { number: number; hash: string }; instructions: readonly Call[] }[] = [];
  rollbackCount = 0;
  resetCount = 0;

  take({ event, data }: { event: string; data: string }): void {
    if (event === 'reset') this.resetCount++;
    else if (event === 'rollback') {
      const { number } = JSON.parse(data) as { number: number };
      this.blocks = this.blocks.filter(({ header }) => header.number <= number);
      this.rollbackCount++;
    } else {
      for (const block of JSON.parse(data) as Page['blocks']) {
        expect(block.header.number).toBeGreaterThan(this.blocks.at(-1)?.header.number ?? -1);
        this.blocks.push(block);
      }
    }
  }
}

test(`behavior: balances and a page equal the chain after forks, kills and broken connections${hasPostgres ? '' : ' (without PostgreSQL, which is not installed here)'}`, async () => {
  compileExamples();
  const databases = [await startPglite(), ...(hasPostgres ? [await startPostgres()] : [])];
  const world = await StormWorld.start({
    seed: 5,
    slotMs,
    killEverySlots: 35,
    forkEverySlots: 6,
    burstSlotsMax: 2,
    forkDepthMax: 20,
    cutBytes: 100_000,
  });
  const source = {
    SLUICE_URL: world.url,
    FROM_BLOCK: String(firstSlot),
    TO_BLOCK: String(toBlock),
  };
  const tables = databases.map(
    ({ url }) => new ExampleProcess('token-balances', { ...source, DATABASE_URL: url }),
  );
  const relay = new ExampleProcess('browser-relay', { ...source, PORT: '0' });
  const all = [...tables, relay];
  const stop = new AbortController();
  try {
    for (const example of all) example.start();
    const page = new Page();
    while (relay.output === '') await new Promise((resolve) => setTimeout(resolve, 10));
    const address = relay.output.trim();
    const fixedRelay = new ExampleProcess('browser-relay', {
      ...source,
      PORT: new URL(address).port,
    });
    const reading = readEvents(address, (event) => page.take(event), stop.signal);
    // Pages only receive blocks with transfers, so a consumer of every block determines the pace.
    let tip = '';
    const following = (async () => {
      const every = { fromBlock: firstSlot, toBlock, includeAllBlocks: true };
      for await (const batch of createClient({
        url: world.url,
        retry: { firstMs: 20, maxMs: 200 },
      }).stream(every)) {
        tip = batch.cursor.blocks.at(-1)?.hash ?? '';
      }
    })();
    for (const kill of [0, 1]) {
      await world.runUntil(
        world.slot + (toBlock - calmSlots - world.slot) / (2 - kill),
        (head) => tip === head,
      );
      for (const example of tables) {
        await example.kill();
        example.start();
      }
      if (kill === 1) continue;
      await relay.kill();
      fixedRelay.start();
    }
    all.push(fixedRelay);
    world.node.ledger.time.advance((toBlock + calmSlots - world.slot) * slotMs);
    await Promise.all(tables.map((example) => example.finish()));
    await following;
    for (const database of databases)
      await expectBalances(world.directUrl, database, { first: firstSlot, last: toBlock });
    const transfers = await readTransfers(world.directUrl);
    const shown = () =>
      page.blocks.filter(({ header }) => header.number <= toBlock).flatMap(namesOf);
    while ((page.blocks.at(-1)?.header.number ?? 0) <= toBlock) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(shown()).toEqual(transfers);
    expect(page.rollbackCount).toBeGreaterThan(0);
    stop.abort();
    await reading;
  } finally {
    stop.abort();
    for (const example of all) await example.kill();
    await world.close();
    for (const database of databases) await database.close();
  }
}, 180_000);

/** An EventSource like that of browsers: it reads events, and reconnects with the last id when the connection is lost. */
interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

async function readEvents(
  url: string,
  take: (event: ServerEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let lastId = '';
  while (!signal.aborted) {
    try {
      const headers = lastId === '' ? {} : { 'last-event-id': lastId };
      const response = await fetch(url, { headers, signal });
      let text = '';
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const fields = new Map(
            text
              .slice(0, end)
              .split('\n')
              .map((line) => [line.split(':')[0] ?? '', line.replace(/^[^:]*:? ?/, '')]),
          );
          text = text.slice(end + 2);
          const id = fields.get('id');
          if (id !== undefined) lastId = id;
          const event = fields.get('event');
          if (event !== undefined) take({ event, data: fields.get('data') ?? '' });
        }
      }
    } catch {
      // The relay is stopped, or has broken the connection.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
