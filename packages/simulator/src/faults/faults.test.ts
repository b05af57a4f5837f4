import { afterEach, describe, expect, test } from 'vitest';
import { type SimulatedNode, startNode } from '../start-node.ts';
import {
  blockConfig,
  call,
  createTestLedger,
  getBlock,
  post,
  startTestNode,
} from '../testing/start-test-node.ts';
import type { FaultRequest } from './faults.ts';

let node: SimulatedNode;

async function start(options: Parameters<typeof startTestNode>[0] = {}): Promise<void> {
  node = await startTestNode({
    ...options,
    chain: { seed: 3, startSlot: 2_000, ...options.chain },
  });
}
afterEach(() => node.close());

describe('scope', () => {
  const status = async (method: string) => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: method === 'getBlock' ? [2_000, blockConfig] : [],
    };
    return (await post(node, body)).status;
  };

  test('behavior: a fault can be limited to methods and to a number of times', async () => {
    await start();
    const fault = node.faults.set({
      kind: 'http-status',
      status: 500,
      methods: ['getSlot'],
      times: 2,
    });
    expect([await status('getHealth'), await status('getSlot')]).toEqual([200, 500]);
    expect([await status('getSlot'), await status('getSlot')]).toEqual([500, 200]);
    expect(fault.hits).toBe(2);
  });

  test('behavior: probability is drawn from the seed, the same in every run', async () => {
    const run = async (seed: number) => {
      await start({ chain: { seed } });
      node.faults.set({ kind: 'http-status', status: 500, probability: 0.5 });
      const statuses: number[] = [];
      for (let count = 0; count < 40; count++) statuses.push(await status('getHealth'));
      await node.close();
      return statuses;
    };
    const first = await run(1);
    expect(await run(1)).toEqual(first);
    expect(await run(2)).not.toEqual(first);
    expect(first.filter((at) => at === 500).length).toBeGreaterThan(8);
    expect(first.filter((at) => at === 200).length).toBeGreaterThan(8);
  });

  test('behavior: nodes of one chain have their own lag and faults', async () => {
    await start();
    const ledger = createTestLedger({ chain: { seed: 3, startSlot: 2_000 } });
    const prompt = await startNode({}, { ledger });
    const behind = await startNode({ lagSlots: 5 }, { ledger });
    try {
      prompt.faults.set({ kind: 'other-genesis' });
      const head = async (of: SimulatedNode) =>
        (await call(of, 'getSlot', { commitment: 'confirmed' })).result;
      expect([await head(prompt), await head(behind)]).toEqual([2_000, 1_995]);
      expect((await getBlock(behind, 1_990)).blockhash).toBe(
        (await getBlock(prompt, 1_990)).blockhash,
      );
      const genesis = async (of: SimulatedNode) => (await call(of, 'getGenesisHash')).result;
      expect(await genesis(prompt)).not.toBe(await genesis(behind));
    } finally {
      await prompt.close();
      await behind.close();
    }
  });

  test('limit: at most 100 faults', async () => {
    await start();
    const fault: FaultRequest = { kind: 'bom', methods: ['getHealth'] };
    for (let count = 0; count < 100; count++) node.faults.set(fault);
    expect(() => node.faults.set(fault)).toThrow(/at most 100/);
  });
});
