import { request as httpRequest, type IncomingMessage } from 'node:http';
import { systemClock } from '@sluice/base/clock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChainBlock } from './chain/chain-block.ts';
import type { SimulatedNode } from './start-node.ts';
import { createSimulatedLedger, startSimulatedNode } from './start-simulated-node.ts';
import { blockConfig } from './testing/start-test-node.ts';

/** Large enough that the operating system buffers only a part of a block while its reader waits. */
const options = {
  paused: true,
  chain: { seed: 3, startSlot: 2_000, skipRate: 0, forkRate: 0 },
  content: { profile: 'busy', votes: false, transactionsPerBlock: 1_600 },
} as const;

/** The cache holds only a few blocks, so nearly every block is rendered again. */
const limits = { renderedBytesMax: 48 * 1024 * 1024 };
const slots = Array.from({ length: 7 }, (_, index) => 1_900 + index);

let node: SimulatedNode;
let expected: ReadonlyMap<number, Buffer>;

beforeAll(async () => {
  node = await startSimulatedNode({ ...options, limits }, { clock: systemClock });
  // Another ledger of the same seed.
  const { chain, render } = createSimulatedLedger(options, { clock: systemClock });
  expected = new Map(
    slots.map((slot) => {
      const asked = { transactionDetails: 'full', rewards: true } as const;
      const { json } = render(chain.blockAt(slot) as ChainBlock, asked);
      return [
        slot,
        Buffer.concat([ascii('{"jsonrpc":"2.0","result":'), json, ascii(',"id":1}\n')]),
      ];
    }),
  );
});
afterAll(() => node.close());

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** Returns the response after its headers and first bytes. The caller decides when the rest is read. */
function ask(slot: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' };
    const request = httpRequest(node.rpcUrl, { method: 'POST', headers, agent: false }, resolve);
    request.on('error', reject);
    request.end(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBlock', params: [slot, blockConfig] }),
    );
  });
}

async function readWhole(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function expectWhole(slot: number, response: IncomingMessage): Promise<void> {
  const body = await readWhole(response);
  const wanted = expected.get(slot) as Buffer;
  expect(body.length).toBe(wanted.length);
  expect(body.equals(wanted), `the bytes of slot ${slot}`).toBe(true);
}

/** Reads every block, three at a time. */
async function readAll(): Promise<void> {
  const left = [...slots];
  const reader = async (): Promise<void> => {
    for (let slot = left.pop(); slot !== undefined; slot = left.pop()) {
      await expectWhole(slot, await ask(slot));
    }
  };
  await Promise.all([reader(), reader(), reader()]);
}

/** Reads the first bytes and disconnects. */
async function vanish(slot: number): Promise<void> {
  const response = await ask(slot);
  response.on('error', () => {});
  await new Promise((resolve) => response.once('data', resolve));
  const closed = new Promise((resolve) => response.once('close', resolve));
  response.destroy();
  await closed;
}

test('behavior: clients that read the same block get all of it when one of them disconnects', async () => {
  const slot = slots[0] as number;
  const held = await Promise.all([ask(slot), ask(slot)]);
  await vanish(slot);
  await readAll();
  await Promise.all(held.map((response) => expectWhole(slot, response)));
});
