import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { SimulatedNode } from '../start-node.ts';
import { Inbox } from '../testing/inbox.ts';
import { startTestNode } from '../testing/start-test-node.ts';

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
  test('default: both ports notify of every processed slot with its parent and root', async () => {
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

  test('behavior: skipped slots are not reported, and the parent of the next slot shows the gap', async () => {
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

  test('behavior: an unsubscribed client gets no notification, and an unknown id is an error', async () => {
    const node = await start();
    const inbox = await connect(node.wsUrl);
    const ended = await inbox.call('slotSubscribe');
    const subscription = await inbox.call('slotSubscribe');
    expect(await inbox.call('slotUnsubscribe', ended)).toBe(true);
    await expect(inbox.call('slotUnsubscribe', ended)).rejects.toThrow('Invalid subscription id.');
    advance(node, 1);
    expect(await inbox.next()).toMatchObject({ params: { subscription } });
  });
});

describe('sockets', () => {
  test('error: unknown methods and invalid frames get an error, and the socket stays open', async () => {
    const inbox = await connect((await start()).wsUrl);
    await expect(inbox.call('getSlot')).rejects.toThrow('-32601');
    inbox.socket.send('nonsense');
    expect(await inbox.next()).toMatchObject({ error: { code: -32700 }, id: null });
    expect(await inbox.call('slotSubscribe')).toEqual(expect.any(Number));
  });

  test('limit: the numbers of subscriptions per socket and of sockets are limited', async () => {
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

  test('error: plain HTTP on the WebSocket port is refused', async () => {
    const node = await start();
    expect((await fetch(node.wsUrl.replace('ws', 'http'))).status).toBe(426);
  });
});
