import { systemClock } from '@sluice/base/clock';
import { encodeBlockParts, parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { encodeSubscribeUpdate, type SubscribeUpdate } from '@sluice/grpc/subscribe-update';
import { afterEach, expect, test } from 'vitest';
import type { NodeOptions, SimulatedNode } from '../start-node.ts';
import { startSimulatedNode } from '../start-simulated-node.ts';
import { GrpcInbox } from '../testing/grpc-inbox.ts';
import { blockConfig, post } from '../testing/start-test-node.ts';

let node: SimulatedNode;
afterEach(() => node.close());

const startSlot = 2_000;

async function start(options: NodeOptions = {}): Promise<void> {
  const chain = { seed: 3, startSlot, skipRate: 0, forkRate: 0, finalityDistance: 8 };
  node = await startSimulatedNode({ ...options, paused: true, chain }, { clock: systemClock });
}

function advance(slots: number): void {
  node.ledger.time.advance(slots * node.ledger.chain.options.slotMs);
}

/** Returns the block update for what `getBlock` returns. */
async function expectedBlock(slot: number): Promise<SubscribeUpdate> {
  const params = [slot, blockConfig];
  const response = await post(node, { jsonrpc: '2.0', id: 1, method: 'getBlock', params });
  const text = await response.text();
  const json = text.slice('{"jsonrpc":"2.0","result":'.length, text.lastIndexOf(',"id":1}'));
  return { kind: 'block', ...encodeBlockParts(slot, parseJsonBlock(Buffer.from(json))) };
}

const hex = (update: SubscribeUpdate) => Buffer.from(encodeSubscribeUpdate(update)).toString('hex');

test('default: a stream has every confirmed block as getBlock has it, and the states of slots', async () => {
  await start();
  const inbox = GrpcInbox.open(node, { slots: true, blocks: true });
  await inbox.ready();
  advance(3);
  const blocks: SubscribeUpdate[] = [];
  const states: string[] = [];
  while (blocks.length < 2) {
    const update = await inbox.next();
    if (update.kind === 'block') blocks.push(update);
    if (update.kind === 'slot') states.push(`${update.slot} ${update.status}`);
  }
  for (const [i, block] of blocks.entries()) {
    expect(hex(block)).toBe(hex(await expectedBlock(startSlot + 1 + i)));
  }
  expect(states.indexOf(`${startSlot + 1} processed`)).toBeGreaterThanOrEqual(0);
  expect(states.indexOf(`${startSlot + 1} confirmed`)).toBeGreaterThan(0);
  inbox.close();
});

test('behavior: a block in parts has the same transactions, then its meta', async () => {
  await start();
  const inbox = GrpcInbox.open(node, { transactions: true, blockMetas: true });
  await inbox.ready();
  advance(2);
  const expected = await expectedBlock(startSlot + 1);
  if (expected.kind !== 'block') throw new Error('a block was expected');
  const updates = await inbox.take(expected.transactions.length + 1);
  const parts = expected.transactions.map((transaction): SubscribeUpdate => {
    return { kind: 'transaction', slot: startSlot + 1, transaction };
  });
  const meta: SubscribeUpdate = { kind: 'block-meta', meta: expected.meta };
  expect(updates.map(hex)).toEqual([...parts, meta].map(hex));
  inbox.close();
});

test('behavior: a replay begins at the requested slot, and one that is too old is out of range', async () => {
  await start();
  const inbox = GrpcInbox.open(node, { slots: true, blocks: true, fromSlot: startSlot - 3 });
  const slots: number[] = [];
  while (slots.length < 4) {
    const update = await inbox.next();
    if (update.kind === 'block') slots.push(update.meta.slot);
  }
  expect(slots).toEqual([-3, -2, -1, 0].map((offset) => startSlot + offset));
  inbox.close();
  const old = GrpcInbox.open(node, { slots: true, fromSlot: startSlot - 151 });
  expect(await old.ended).toEqual({
    code: 11,
    message: 'broadcast from 1849 is not available, last available: 1850',
  });
});

test('behavior: with processed, a block is sent before its slot is confirmed', async () => {
  await start();
  const inbox = GrpcInbox.open(node, { slots: true, blocks: true, commitment: 'processed' });
  await inbox.ready();
  advance(2);
  const kinds: string[] = [];
  while (!kinds.includes(`${startSlot + 1} confirmed`)) {
    const update = await inbox.next();
    if (update.kind === 'block') kinds.push(`${update.meta.slot} block`);
    if (update.kind === 'slot') kinds.push(`${update.slot} ${update.status}`);
  }
  const ofFirst = kinds.filter((kind) => kind.startsWith(`${startSlot + 1}`));
  expect(ofFirst).toEqual(
    ['block', 'processed', 'confirmed'].map((kind) => `${startSlot + 1} ${kind}`),
  );
  inbox.close();
});

test('error: a wrong token is unauthenticated, another method unimplemented', async () => {
  await start({ grpcToken: 'secret' });
  expect((await GrpcInbox.open(node, { slots: true }, { 'x-token': 'other' }).ended).code).toBe(16);
  const inbox = GrpcInbox.open(node, { slots: true }, { 'x-token': 'secret' });
  await inbox.ready();
  inbox.close();
});

test('behavior: a fork sends the blocks of the new branch', async () => {
  await start();
  const inbox = GrpcInbox.open(node, { blocks: true });
  await inbox.ready();
  advance(5);
  const before = await inbox.take(4);
  node.faults.set({ kind: 'fork', depth: 4, forSlots: 8 });
  advance(1);
  const hashes = new Map(
    before.flatMap((one) => (one.kind === 'block' ? [[one.meta.slot, one.meta.blockhash]] : [])),
  );
  let replaced = 0;
  while (replaced < 2) {
    const update = await inbox.next();
    if (update.kind !== 'block') continue;
    const known = hashes.get(update.meta.slot);
    if (known !== undefined && known !== update.meta.blockhash) replaced++;
  }
  inbox.close();
});
