import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { systemClock } from '@sluice/base/clock';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import type { RenderBlock } from './node/rendered-blocks.ts';
import type { SimulatedNode } from './start-node.ts';
import { startNode } from './start-node.ts';
import {
  createSimulatedLedger,
  type SimulatedLedgerOptions,
  startSimulatedNode,
} from './start-simulated-node.ts';
import { blockConfig, call, getBlock, post } from './testing/start-test-node.ts';

const nodes: SimulatedNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close();
});

async function start(options: SimulatedLedgerOptions): Promise<SimulatedNode> {
  const node = await startSimulatedNode({ paused: true, ...options }, { clock: systemClock });
  nodes.push(node);
  return node;
}

async function bytesOf(node: SimulatedNode, slot: number): Promise<string> {
  const body = { jsonrpc: '2.0', id: 1, method: 'getBlock', params: [slot, blockConfig] };
  return (await post(node, body)).text();
}

test('default: blocks have transactions, and a header is the same without them', async () => {
  const node = await start({ chain: { skipRate: 0 } });
  const block = await getBlock(node, 1_000);
  expect(block.transactions?.length).toBeGreaterThan(0);
  expect(block.rewards?.length).toBeGreaterThan(0);
  const headerConfig = { ...blockConfig, transactionDetails: 'none', rewards: false };
  const header = (await call(node, 'getBlock', 1_000, headerConfig)).result;
  const { transactions: _, rewards: __, ...expected } = block;
  expect(header).toEqual(expected);
  const listed = (await call(node, 'getBlock', 1_000, { ...headerConfig, rewards: true })).result;
  expect(listed).toEqual({ ...expected, rewards: block.rewards });
});

test('behavior: the next block is rendered before it is confirmed for a client that follows the head', async () => {
  const made: number[] = [];
  const ledger = createSimulatedLedger(
    { paused: true, chain: { skipRate: 0 } },
    { clock: systemClock },
  );
  const render: RenderBlock = (block, ...rest) => {
    made.push(block.slot);
    return ledger.render(block, ...rest);
  };
  const node = await startNode({}, { ledger: { ...ledger, render } });
  nodes.push(node);
  const head = node.state().confirmedSlot;
  await getBlock(node, head);
  expect(made).toEqual([head]);
  ledger.time.advance(ledger.chain.options.slotMs);
  // The node handles its timers before this request. It renders the next block in the middle of the slot.
  await call(node, 'getSlot');
  expect(node.state().processedSlot).toBe(head + 1);
  await vi.waitUntil(() => made.length > 1, { timeout: 10_000 });
  expect(made).toEqual([head, head + 2]);
  expect(node.state().processedSlot).toBe(head + 1);
});

test('error: -32015 if the version limit is too low for the block', async () => {
  const node = await start({
    content: { version1Rate: 1, votes: false, transactionsPerBlock: 20 },
  });
  const config = { ...blockConfig, maxSupportedTransactionVersion: 0 };
  const answer = await call(node, 'getBlock', node.state().confirmedSlot, config);
  expect(answer.error).toMatchObject({ code: -32015 });
  expect(answer.error?.message).toContain('Transaction version (1)');
});

test('property: two nodes with the same seed send the same bytes', async () => {
  const chain = { skipRate: 0.05, forkRate: 0.05 };
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 999 }), async (seed, slot) => {
      const one = await start({ chain: { ...chain, seed } });
      const two = await start({ chain: { ...chain, seed } });
      const other = await start({ chain: { ...chain, seed: seed + 1 } });
      const existing = one.ledger.chain.previousBlock(slot);
      const bytes = await bytesOf(one, existing);
      expect(bytes).toContain('"result":{');
      await bytesOf(two, two.ledger.chain.previousBlock(500));
      expect(await bytesOf(two, existing)).toBe(bytes);
      expect(await bytesOf(other, existing)).not.toBe(bytes);
      for (const node of nodes.splice(0)) await node.close();
    }),
    { numRuns: 6 },
  );
});

test('behavior: a ledger that resumes continues with the same blocks', async () => {
  const chain = { skipRate: 0.05, startSlot: 1_000, startSeconds: 1_800_000_000 };
  const first = await start({ chain });
  first.ledger.time.advance(500 * 400);
  const head = first.state().processedSlot;
  const bytes = await bytesOf(first, head);
  const again = await start({ chain, resumeAtSlot: head });
  expect(again.state().processedSlot).toBe(head);
  expect(await bytesOf(again, head)).toBe(bytes);
  again.ledger.time.advance(400 * 10);
  first.ledger.time.advance(400 * 10);
  expect(await bytesOf(again, again.state().confirmedSlot)).toBe(
    await bytesOf(first, first.state().confirmedSlot),
  );
});

test('behavior: time runs at the configured speed', async () => {
  const node = await start({ paused: false, speed: 400, chain: { slotMs: 400, skipRate: 0 } });
  const slotNow = () => {
    const fromMs = systemClock.nowMs();
    const slot = node.state().processedSlot;
    return { slot, fromMs, toMs: systemClock.nowMs() };
  };
  const before = slotNow();
  await expect.poll(() => node.state().processedSlot - before.slot).toBeGreaterThan(20);
  const after = slotNow();
  // At this speed a slot takes one millisecond.
  const slots = after.slot - before.slot;
  expect(slots).toBeGreaterThan(after.fromMs - before.toMs - 2);
  expect(slots).toBeLessThan(after.toMs - before.fromMs + 2);
});

test('error: simulator-option-invalid for a speed of 0', () => {
  expect(() => createSimulatedLedger({ speed: 0 }, { clock: systemClock })).toThrow(/speed/);
});

test('error: listen-failed if a port is in use, and no port stays open', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as AddressInfo;
  const free = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => free.once('listening', resolve));
  const freePort = (free.address() as AddressInfo).port;
  await new Promise((resolve) => free.close(resolve));
  const ledger = createSimulatedLedger({ paused: true }, { clock: systemClock });
  await expect(startNode({ port: freePort, wsPort: port }, { ledger })).rejects.toMatchObject({
    code: 'listen-failed',
    detail: { port, reason: 'EADDRINUSE' },
  });
  await expect(fetch(`http://127.0.0.1:${freePort}/health`)).rejects.toThrow();
  taken.close();
});
