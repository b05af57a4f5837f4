import { request as httpRequest } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '@sluice/base/clock';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLedger } from '../simulated-ledger.ts';
import { type SimulatedNode, startNode } from '../start-node.ts';
import {
  blockConfig,
  call,
  getBlock,
  post,
  type RpcReply,
  startTestNode,
  type WireBlock,
} from '../testing/start-test-node.ts';

// The node is at slot 5,000. Everything below 4,969 is final, and nothing below 4,000 is kept.
let node: SimulatedNode;
let finalized: number;

beforeAll(async () => {
  node = await startTestNode({
    chain: { seed: 7, startSlot: 5_000, historySlots: 1_000, skipRate: 0.05 },
  });
  finalized = node.state().finalizedSlot;
});
afterAll(() => node.close());

function skippedSlot(first: number, last: number): number {
  for (let slot = first; slot <= last; slot++) {
    if (!node.ledger.chain.hasBlock(slot)) return slot;
  }
  throw new Error('no skip in range');
}

describe('methods', () => {
  test('default: methods without parameters return what a node returns', async () => {
    const { chain } = node.ledger;
    expect(await call(node, 'getHealth')).toEqual({ jsonrpc: '2.0', result: 'ok', id: 1 });
    expect((await call(node, 'getGenesisHash')).result).toBe(chain.genesisHash);
    expect((await call(node, 'getFirstAvailableBlock')).result).toBe(chain.nextBlock(4_000));
  });

  test('behavior: getSlot returns the slot of a commitment, by default the finalized one', async () => {
    const { chain } = node.ledger;
    const head = chain.previousBlock(5_000);
    expect((await call(node, 'getSlot', { commitment: 'processed' })).result).toBe(head);
    expect((await call(node, 'getSlot', { commitment: 'confirmed' })).result).toBe(head);
    expect((await call(node, 'getSlot')).result).toBe(finalized);
    expect(finalized).toBeLessThanOrEqual(4_969);
    expect(finalized).toBeGreaterThan(4_955);
  });

  test('behavior: getBlocks lists the existing blocks from the first available one to the head', async () => {
    const { chain } = node.ledger;
    const existing = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, at) => first + at).filter((slot) =>
        chain.hasBlock(slot),
      );
    const confirmed = { commitment: 'confirmed' };
    expect((await call(node, 'getBlocks', 4_100, 4_200)).result).toEqual(existing(4_100, 4_200));
    expect((await call(node, 'getBlocks', 3_900, 4_010)).result).toEqual(existing(4_000, 4_010));
    expect((await call(node, 'getBlocks', 4_950, 9_999)).result).toEqual(
      existing(4_950, finalized),
    );
    expect((await call(node, 'getBlocks', 4_950, 9_999, confirmed)).result).toEqual(
      existing(4_950, 5_000),
    );
    expect((await call(node, 'getBlocks', 4_990, confirmed)).result).toEqual(
      existing(4_990, 5_000),
    );
    expect((await call(node, 'getBlocks', 4_990, null, confirmed)).result).toEqual(
      existing(4_990, 5_000),
    );
    expect((await call(node, 'getBlocks', 4_200, 4_100)).result).toEqual([]);
  });

  test('behavior: getBlock links to its parent and returns the requested details', async () => {
    const { chain } = node.ledger;
    const slot = chain.previousBlock(4_500);
    const block = await getBlock(node, slot);
    const parent = await getBlock(node, block.parentSlot);
    expect(block.previousBlockhash).toBe(parent.blockhash);
    expect(block.blockHeight).toBe(parent.blockHeight + 1);
    expect(block.rewards).toEqual([]);
    expect((await call(node, 'getBlockTime', slot)).result).toBe(block.blockTime);
    const detail = async (transactionDetails: string, rewards?: boolean) => {
      const config = { ...blockConfig, transactionDetails, rewards };
      return Object.keys((await call(node, 'getBlock', slot, config)).result as WireBlock);
    };
    const header = ['blockhash', 'previousBlockhash', 'parentSlot', 'blockTime', 'blockHeight'];
    expect(await detail('full', false)).toEqual([...header, 'transactions']);
    expect(await detail('none')).toEqual([...header, 'rewards']);
    expect(await detail('none', false)).toEqual(header);
  });
});

describe('errors', () => {
  async function expectError(
    [method, ...params]: [string, ...unknown[]],
    code: number,
    message: string,
  ): Promise<void> {
    const answer = await call(node, method, ...params);
    expect(answer).toMatchObject({ error: { code, message }, id: 1 });
    expect(answer).not.toHaveProperty('result');
  }

  test('error: -32001 below the first available block', async () => {
    const first = node.state().firstAvailableSlot;
    const message = `Block 100 cleaned up, does not exist on node. First available block: ${first}`;
    await expectError(['getBlock', 100, blockConfig], -32001, message);
    await expectError(['getBlockTime', 100], -32001, message);
  });

  test('error: -32004 for skipped slots above the root, for future slots, and above the commitment', async () => {
    const skipped = skippedSlot(finalized + 1, 5_000);
    const message = (slot: number) => `Block not available for slot ${slot}`;
    await expectError(['getBlock', skipped, blockConfig], -32004, message(skipped));
    await expectError(['getBlock', 5_001, blockConfig], -32004, message(5_001));
    await expectError(['getBlock', 2 ** 60, blockConfig], -32004, message(2 ** 60));
    const head = node.state().confirmedSlot;
    const asFinal = { ...blockConfig, commitment: 'finalized' };
    await expectError(['getBlock', head, asFinal], -32004, message(head));
  });

  test('error: -32007 for skipped slots below the root', async () => {
    const skipped = skippedSlot(4_100, finalized);
    const message = `Slot ${skipped} was skipped, or missing due to ledger jump to recent snapshot`;
    await expectError(['getBlock', skipped, blockConfig], -32007, message);
  });

  test('error: -32015 without a version limit, unless no transactions are requested', async () => {
    const { maxSupportedTransactionVersion: _, ...config } = blockConfig;
    const slot = node.state().confirmedSlot;
    const answer = await call(node, 'getBlock', slot, config);
    expect(answer.error?.code).toBe(-32015);
    expect(answer.error?.message).toContain('"maxSupportedTransactionVersion": 0');
    const none = await call(node, 'getBlock', slot, { ...config, transactionDetails: 'none' });
    expect(none.error).toBeUndefined();
  });

  test('error: -32601 for a method that does not exist', async () => {
    await expectError(['getBlok', 1], -32601, 'Method not found');
    await expectError(['toString'], -32601, 'Method not found');
  });

  test.each([
    ['processed blocks', ['getBlock', 4_500, { commitment: 'processed' }], 'below `confirmed`'],
    ['processed lists', ['getBlocks', 1, 2, { commitment: 'processed' }], 'below `confirmed`'],
    ['an unknown commitment', ['getSlot', { commitment: 'max' }], 'unknown variant "max"'],
    ['a slot that is text', ['getBlock', '4500', blockConfig], 'expected u64'],
    ['a negative slot', ['getBlock', -1], 'expected u64'],
    ['no slot', ['getBlock'], 'expected u64'],
    ['another encoding', ['getBlock', 4_500, { encoding: 'base64' }], 'expected one of `json`'],
    ['unknown details', ['getBlock', 1, { transactionDetails: 'most' }], 'expected one of `full`'],
    ['a version of text', ['getBlock', 1, { maxSupportedTransactionVersion: 'a' }], 'expected u8'],
    ['rewards that are a number', ['getBlock', 1, { rewards: 1 }], 'expected a boolean'],
    ['a config that is a list', ['getSlot', [1]], 'expected a configuration object'],
    ['a range too large', ['getBlocks', 0, 500_001], 'Slot range too large; max 500000'],
  ] as [string, [string, ...unknown[]], string][])(
    'error: -32602 for %s',
    async (_, request, text) => {
      const answer = await call(node, ...request);
      expect(answer.error?.code).toBe(-32602);
      expect(answer.error?.message).toContain(text);
    },
  );

  test.each([
    ['not JSON', '{"jsonrpc":', -32700, 'Parse error'],
    ['an empty batch', '[]', -32600, 'Invalid request'],
    ['a number', '1', -32600, 'Invalid request'],
    ['no version', '{"id":1,"method":"getSlot"}', -32600, 'Invalid request'],
    ['no method', '{"jsonrpc":"2.0","id":1}', -32600, 'Invalid request'],
    [
      'named parameters',
      '{"jsonrpc":"2.0","id":1,"method":"getSlot","params":{}}',
      -32602,
      'Invalid params',
    ],
  ])('error: %s', async (_, body, code, message) => {
    const response = await post(node, body);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code, message } });
  });

  test('error: HTTP rejects other methods, other content types and bodies that are too large', async () => {
    expect((await fetch(node.rpcUrl)).status).toBe(405);
    const typed = await post(node, '{}', { 'Content-Type': 'text/plain' });
    expect(typed.status).toBe(415);
    expect((await post(node, ' '.repeat(60_000))).status).toBe(413);
  });
});

describe('bugs', () => {
  test('error: -32603 if a block cannot be rendered, and the node keeps running', async () => {
    const ledger = createLedger(
      { paused: true },
      {
        clock: systemClock,
        render: () => {
          throw new RangeError('no such block');
        },
      },
    );
    const broken = await startNode({}, { ledger });
    const { confirmedSlot } = broken.state();
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'getBlock',
      params: [confirmedSlot, blockConfig],
    };
    const response = await post(broken, body);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { code: -32603, message: 'Internal error: no such block' },
    });
    expect((await call(broken, 'getHealth')).result).toBe('ok');
    await broken.close();
  });
});

describe('batches', () => {
  const item = (id: unknown, method: string, ...params: unknown[]) => ({
    jsonrpc: '2.0',
    id,
    method,
    params,
  });

  test('default: responses keep order and ids, and one failure does not affect the others', async () => {
    const slot = node.state().confirmedSlot;
    const response = await post(node, [
      item('a', 'getBlock', slot, blockConfig),
      item(2, 'getBlock', 5_001, blockConfig),
      item(null, 'nothing'),
      { jsonrpc: '2.0', method: 'getSlot' },
      'garbage',
      item(3, 'getHealth'),
    ]);
    const answers = (await response.json()) as RpcReply[];
    expect(answers.map((at) => at.id)).toEqual(['a', 2, null, null, 3]);
    expect(answers.map((at) => at.error?.code)).toEqual([
      undefined,
      -32004,
      -32601,
      -32600,
      undefined,
    ]);
    expect(answers[0]?.result).toEqual(await getBlock(node, slot));
  });

  test('limit: a batch of more than 100 calls is rejected', async () => {
    const calls = Array.from({ length: 101 }, (_, id) => item(id, 'getHealth'));
    expect(await (await post(node, calls)).json()).toMatchObject({ error: { code: -32600 } });
    expect(await (await post(node, calls.slice(1))).json()).toHaveLength(100);
  });
});

describe('gzip', () => {
  /** Sends a request without a client that decompresses the response. */
  function raw(body: string, headers: Record<string, string>) {
    return new Promise<{ headers: NodeJS.Dict<string | string[]>; body: Buffer }>(
      (resolve, reject) => {
        const request = httpRequest(
          node.rpcUrl,
          { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('end', () =>
              resolve({
                headers: response.headers,
                body: Buffer.concat(chunks),
              }),
            );
          },
        );
        request.on('error', reject);
        request.end(body);
      },
    );
  }
  const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getGenesisHash' });

  test('behavior: responses are compressed only on request, for single calls and batches', async () => {
    for (const body of [request, `[${request}]`]) {
      const plain = await raw(body, {});
      expect(plain.headers['content-encoding']).toBeUndefined();
      const zipped = await raw(body, { 'Accept-Encoding': 'deflate, gzip' });
      expect(zipped.headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(zipped.body)).toEqual(plain.body);
      const refused = await raw(body, { 'Accept-Encoding': 'gzip;q=0' });
      expect(refused.headers['content-encoding']).toBeUndefined();
    }
  });
});
