import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { SimulatedNode } from './start-node.ts';
import { Inbox } from './testing/inbox.ts';
import { blockConfig, call, startTestNode } from './testing/start-test-node.ts';

const nodes: SimulatedNode[] = [];
const sockets: Inbox[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.close();
  for (const node of nodes.splice(0)) await node.close();
});

async function start(options: Parameters<typeof startTestNode>[0] = {}): Promise<SimulatedNode> {
  const node = await startTestNode(options);
  nodes.push(node);
  return node;
}

async function connect(url: string): Promise<Inbox> {
  const inbox = await Inbox.open(new WebSocket(url));
  sockets.push(inbox);
  return inbox;
}

function advance(node: SimulatedNode, slots: number): void {
  node.ledger.time.advance(slots * node.ledger.chain.options.slotMs);
}

describe('slotSubscribe', () => {
  test('default: on both ports; every processed slot with parent and root', async () => {
    const node = await start();
    for (const url of [node.wsUrl, node.rpcUrl.replace('http', 'ws')]) {
      const inbox = await connect(url);
      const id = await inbox.call('slotSubscribe');
      const before = node.state().processedSlot;
      advance(node, 2);
      const [first, second] = [await inbox.next(), await inbox.next()];
      expect(first).toEqual({
        jsonrpc: '2.0',
        method: 'slotNotification',
        params: {
          result: { slot: before + 1, parent: before, root: expect.any(Number) },
          subscription: id,
        },
      });
      expect(second).toMatchObject({
        params: { result: { slot: before + 2, parent: before + 1 } },
      });
    }
  });

  test('behavior: skipped slots are not told, and the parent shows it', async () => {
    const node = await start({ chain: { skipRate: 0.3 } });
    const inbox = await connect(node.wsUrl);
    await inbox.call('slotSubscribe');
    const { processedSlot } = node.state();
    advance(node, 30);
    let parent: number = processedSlot;
    const head = node.ledger.chain.previousBlock(1_030);
    while (parent < head) {
      const { slot, parent: told } = (await inbox.nextResult()) as { slot: number; parent: number };
      expect(told).toBe(parent);
      expect(node.ledger.chain.hasBlock(slot)).toBe(true);
      parent = slot;
    }
  });

  test('behavior: unsubscribed means silent; an unknown id is refused', async () => {
    const node = await start();
    const inbox = await connect(node.wsUrl);
    const slots = await inbox.call('slotSubscribe');
    await inbox.call('rootSubscribe');
    expect(await inbox.call('slotUnsubscribe', slots)).toBe(true);
    await expect(inbox.call('slotUnsubscribe', slots)).rejects.toThrow('Invalid subscription id.');
    advance(node, 8);
    expect(await inbox.next()).toMatchObject({ method: 'rootNotification' });
  });
});

describe('rootSubscribe', () => {
  test('default: every finalized slot, in order', async () => {
    const node = await start();
    const inbox = await connect(node.wsUrl);
    await inbox.call('rootSubscribe');
    const before = node.state().finalizedSlot;
    advance(node, 20);
    const after = node.state().finalizedSlot;
    expect(after).toBeGreaterThan(before + 10);
    for (let slot = before + 1; slot <= after; slot++) expect(await inbox.nextResult()).toBe(slot);
  });
});

describe('blockSubscribe', () => {
  const config = {
    commitment: 'confirmed',
    encoding: 'json',
    transactionDetails: 'full',
    showRewards: true,
    maxSupportedTransactionVersion: 1,
  };

  test('default: each confirmed block, equal to what getBlock gives', async () => {
    const node = await start();
    const inbox = await connect(node.wsUrl);
    await inbox.call('blockSubscribe', 'all', config);
    advance(node, 1);
    const slot = node.state().confirmedSlot;
    const { result } = await call(node, 'getBlock', slot, blockConfig);
    expect(await inbox.nextResult()).toEqual({
      context: { slot },
      value: { slot, block: result, err: null },
    });
  });

  test('behavior: a fork brings the new branch from above the ancestor', async () => {
    const node = await start();
    const inbox = await connect(node.wsUrl);
    await inbox.call('blockSubscribe', 'all', { ...config, transactionDetails: 'none' });
    const { confirmedSlot } = node.state();
    const old = node.state().branch.blockAt(confirmedSlot)?.blockhash;
    node.faults.set({ kind: 'fork', depth: 2 });
    const first = (await inbox.nextResult()) as { value: { slot: number } };
    const second = (await inbox.nextResult()) as {
      value: { slot: number; block: { blockhash: string } };
    };
    expect([first.value.slot, second.value.slot]).toEqual([confirmedSlot - 1, confirmedSlot]);
    expect(second.value.block.blockhash).not.toBe(old);
  });

  test('behavior: rewards are left out unless asked for', async () => {
    const node = await start();
    const inbox = await connect(node.wsUrl);
    await inbox.call('blockSubscribe', 'all', { ...config, showRewards: undefined });
    advance(node, 1);
    const { value } = (await inbox.nextResult()) as { value: { block: object } };
    expect(value.block).not.toHaveProperty('rewards');
  });

  test('behavior: without a version limit the block is null and err names the version', async () => {
    const node = await start();
    const inbox = await connect(node.wsUrl);
    await inbox.call('blockSubscribe', 'all', {
      ...config,
      maxSupportedTransactionVersion: undefined,
    });
    advance(node, 1);
    const { value } = (await inbox.nextResult()) as { value: object };
    expect(value).toMatchObject({ block: null, err: { UnsupportedTransactionVersion: 0 } });
  });

  test('error: the default encoding, a processed commitment, another filter', async () => {
    const inbox = await connect((await start()).wsUrl);
    const refused = async (...params: unknown[]) =>
      expect(inbox.call('blockSubscribe', ...params)).rejects.toThrow(/-32602/);
    await refused('all', { ...config, encoding: undefined });
    await refused('all', { ...config, commitment: 'processed' });
    await refused({ mentionsAccountOrProgram: 'x' }, config);
  });
});

describe('sockets', () => {
  test('error: unknown methods and bad frames are answered, and the socket lives', async () => {
    const inbox = await connect((await start()).wsUrl);
    await expect(inbox.call('getSlot')).rejects.toThrow('-32601');
    inbox.socket.send('nonsense');
    expect(await inbox.next()).toMatchObject({ error: { code: -32700 }, id: null });
    expect(await inbox.call('slotSubscribe')).toEqual(expect.any(Number));
  });

  test('limit: subscriptions of one socket, and sockets', async () => {
    const node = await start({
      node: { limits: { subscriptionsPerSocketMax: 2, socketCountMax: 1 } },
    });
    const inbox = await connect(node.wsUrl);
    await inbox.call('slotSubscribe');
    await inbox.call('slotSubscribe');
    await expect(inbox.call('slotSubscribe')).rejects.toThrow('Too many subscriptions; max 2');
    const second = await connect(node.wsUrl);
    expect(await second.closed).toBe(1013);
  });

  test('error: plain HTTP on the WebSocket port', async () => {
    const node = await start();
    expect((await fetch(node.wsUrl.replace('ws', 'http'))).status).toBe(426);
  });
});
