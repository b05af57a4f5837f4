import { connect as connectSocket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { SimulatedNode } from '../start-node.ts';
import { GrpcInbox } from '../testing/grpc-inbox.ts';
import { Inbox } from '../testing/inbox.ts';
import { exactLamports } from '../testing/render-plain-block.ts';
import {
  blockConfig,
  call,
  getBlock,
  post,
  type RpcReply,
  startTestNode,
  type WireBlock,
} from '../testing/start-test-node.ts';
import { FAULT_KINDS, type FaultKind } from './fault-kinds.ts';

let node: SimulatedNode;

async function start(options: Parameters<typeof startTestNode>[0] = {}): Promise<void> {
  node = await startTestNode({
    ...options,
    chain: { seed: 3, startSlot: 2_000, ...options.chain },
  });
}
afterEach(() => node.close());

function advance(slots: number): void {
  node.ledger.time.advance(slots * node.ledger.chain.options.slotMs);
}

async function connect(): Promise<Inbox> {
  return Inbox.open(new WebSocket(node.wsUrl));
}

async function slotAt(commitment: string): Promise<number> {
  return (await call(node, 'getSlot', { commitment })).result as number;
}

/** Returns the last confirmed blocks, newest first, by following parent slots. */
async function recent(count: number): Promise<{ slot: number; block: WireBlock }[]> {
  const blocks: { slot: number; block: WireBlock }[] = [];
  let slot = await slotAt('confirmed');
  while (blocks.length < count) {
    const block = await getBlock(node, slot);
    const child = blocks.at(-1)?.block;
    if (child) expect(child.previousBlockhash).toBe(block.blockhash);
    if (child) expect(child.blockHeight).toBe(block.blockHeight + 1);
    blocks.push({ slot, block });
    slot = block.parentSlot;
  }
  return blocks;
}

/** Returns how many of the newest blocks were replaced. */
async function depthOfFork(before: { slot: number; block: WireBlock }[]): Promise<number> {
  const now = new Map((await recent(20)).map(({ slot, block }) => [slot, block.blockhash]));
  return before.filter(({ slot, block }) => now.get(slot) !== block.blockhash).length;
}

const request = { jsonrpc: '2.0', id: 1, method: 'getBlock', params: [2_000, blockConfig] };

/** Returns everything that arrives on the socket for one request, until it is closed or has `bytesMax` bytes. */
function rawExchange(options: { headers?: string; bytesMax?: number } = {}): Promise<Buffer> {
  const body = JSON.stringify(request);
  const { port } = new URL(node.rpcUrl);
  const socket = connectSocket(Number(port), '127.0.0.1');
  socket.write(
    `POST / HTTP/1.1\r\nHost: node\r\nConnection: close\r\nContent-Type: application/json\r\n${options.headers ?? ''}Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  return new Promise((resolve) => {
    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (bodyOf(received).length >= (options.bytesMax ?? Number.POSITIVE_INFINITY))
        socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });
}

function bodyOf(exchange: Buffer): Buffer {
  const end = exchange.indexOf('\r\n\r\n');
  return end < 0 ? Buffer.alloc(0) : exchange.subarray(end + 4);
}

async function expectMissing(missing: string, read: (block: WireBlock) => unknown): Promise<void> {
  node.faults.clear();
  expect(read(await getBlock(node, 2_000))).not.toBeFalsy();
  node.faults.set({ kind: 'incomplete-meta', missing });
  const response = await post(node, request);
  const text = await response.text();
  expect(read((JSON.parse(text) as { result: WireBlock }).result) ?? null).toBeNull();
  if (missing !== 'meta') expect(text).toContain(`"fee":${exactLamports}`);
}

const metaOf = (block: WireBlock) => block.transactions?.[0]?.meta ?? {};

/** One check per kind. A missing kind is a type error. */
const effects: Record<FaultKind, () => Promise<void>> = {
  stall: async () => {
    node.faults.set({ kind: 'stall', methods: ['getBlock'] });
    const signal = AbortSignal.timeout(300);
    const body = JSON.stringify(request);
    const headers = { 'Content-Type': 'application/json' };
    await expect(fetch(node.rpcUrl, { method: 'POST', headers, body, signal })).rejects.toThrow(
      /timeout/,
    );
    expect((await call(node, 'getHealth')).result).toBe('ok');
  },
  delay: async () => {
    node.faults.set({ kind: 'delay', ms: 120 });
    const startMs = performance.now();
    expect((await call(node, 'getHealth')).result).toBe('ok');
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(115);
  },
  'drop-connection': async () => {
    node.faults.set({ kind: 'drop-connection', atByte: 37 });
    const cut = await rawExchange();
    expect(bodyOf(cut)).toHaveLength(37);
    expect(String(cut)).toMatch(/content-length: \d{3,}/i);
    await expect(getBlock(node, 2_000)).rejects.toThrow();
    node.faults.clear();
    node.faults.set({ kind: 'drop-connection' });
    expect(await rawExchange()).toHaveLength(0);
  },
  drip: async () => {
    node.faults.set({ kind: 'drip', bytesPerSecond: 20 });
    const startMs = performance.now();
    const part = await rawExchange({ bytesMax: 5 });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(150);
    expect(bodyOf(part).length).toBeLessThan(10);
    expect(FAULT_KINDS.drip.parameters['bytesPerSecond']).toMatchObject({ default: 1 });
  },
  'malformed-json': async () => {
    node.faults.set({ kind: 'malformed-json' });
    const response = await post(node, request);
    expect(response.status).toBe(200);
    await expect(response.json()).rejects.toThrow(SyntaxError);
  },
  'truncated-gzip': async () => {
    const whole = bodyOf(await rawExchange());
    node.faults.set({ kind: 'truncated-gzip' });
    const exchange = await rawExchange({ headers: 'Accept-Encoding: gzip\r\n' });
    expect(String(exchange)).toMatch(/content-encoding: gzip/i);
    expect(() => gunzipSync(bodyOf(exchange))).toThrow(/unexpected end/);
    const text = gunzipSync(bodyOf(exchange), { finishFlush: 2 });
    expect(String(whole).startsWith(String(text))).toBe(true);
  },
  'invalid-utf8': async () => {
    const clean = bodyOf(await rawExchange());
    node.faults.set({ kind: 'invalid-utf8' });
    const body = bodyOf(await rawExchange());
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(body)).toThrow();
    expect(body.length).toBe(clean.length + 3);
    expect(JSON.parse(String(body))).toHaveProperty('result.blockhash');
  },
  bom: async () => {
    node.faults.set({ kind: 'bom' });
    expect([...bodyOf(await rawExchange()).subarray(0, 4)]).toEqual([0xef, 0xbb, 0xbf, 0x7b]);
  },
  'rate-limit': async () => {
    node.faults.set({ kind: 'rate-limit', times: 1 });
    const bare = await post(node, request);
    expect([bare.status, bare.headers.get('Retry-After')]).toEqual([429, null]);
    node.faults.set({ kind: 'rate-limit', retryAfterSeconds: 3, times: 1 });
    const timed = await post(node, request);
    expect([timed.status, timed.headers.get('Retry-After')]).toEqual([429, '3']);
    expect((await post(node, request)).status).toBe(200);
  },
  'http-status': async () => {
    node.faults.set({ kind: 'http-status', status: 503 });
    expect((await post(node, request)).status).toBe(503);
  },
  'rpc-error': async () => {
    const texts = new Map<number, string>();
    for (const code of [-32004, -32007, -32009, -32014, -32015]) {
      node.faults.set({ kind: 'rpc-error', code, methods: ['getBlock'], times: 1 });
      const { error } = await call(node, 'getBlock', 2_000, blockConfig);
      texts.set(error?.code as number, error?.message as string);
    }
    expect([...texts.keys()]).toEqual([-32004, -32007, -32009, -32014, -32015]);
    expect(texts.get(-32004)).toBe('Block not available for slot 2000');
    expect(texts.get(-32007)).toMatch(/^Slot 2000 was skipped, or missing due to ledger jump/);
    expect(texts.get(-32009)).toBe('Slot 2000 was skipped, or missing in long-term storage');
    expect(texts.get(-32014)).toBe('Block status not yet available for slot 2000');
    expect(texts.get(-32015)).toContain('maxSupportedTransactionVersion');
    node.faults.set({ kind: 'rpc-error', code: -32009, message: 'rate limit', times: 1 });
    expect((await call(node, 'getSlot')).error).toEqual({ code: -32009, message: 'rate limit' });
  },
  'null-result': async () => {
    node.faults.set({ kind: 'null-result', methods: ['getBlock'] });
    expect(await call(node, 'getBlock', 2_000)).toEqual({ jsonrpc: '2.0', result: null, id: 1 });
  },
  'batch-shuffle': async () => {
    node.faults.set({ kind: 'batch-shuffle' });
    expect(await batchIds()).toEqual([3, 2, 1]);
  },
  'batch-missing': async () => {
    node.faults.set({ kind: 'batch-missing' });
    expect(await batchIds()).toEqual([1, 2]);
  },
  'skip-block': async () => {
    const listed = async () =>
      (await call(node, 'getBlocks', 1_898, 1_902)).result as number[] | undefined;
    const codeOf = async () => (await call(node, 'getBlock', 1_900, blockConfig)).error?.code;
    expect(await listed()).toEqual([1_898, 1_899, 1_900, 1_901, 1_902]);
    for (const [as, code] of [
      ['omitted', undefined],
      ['skipped', -32007],
      ['unavailable', -32004],
    ] as const) {
      node.faults.clear();
      node.faults.set({ kind: 'skip-block', as, fromSlot: 1_900, toSlot: 1_900 });
      expect(await listed()).toEqual([1_898, 1_899, 1_901, 1_902]);
      expect(await codeOf()).toBe(code);
    }
    expect((await getBlock(node, 1_901)).parentSlot).toBe(1_900);
  },
  'wrong-parent-hash': async () => {
    const truth = await getBlock(node, 1_950);
    node.faults.set({ kind: 'wrong-parent-hash', fromSlot: 1_950, toSlot: 1_950, times: 1 });
    const lie = await getBlock(node, 1_950);
    expect(lie.previousBlockhash).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/);
    expect(lie).toEqual({
      ...truth,
      previousBlockhash: expect.not.stringMatching(truth.previousBlockhash),
    });
    const sentinel = '1'.repeat(32);
    node.faults.set({ kind: 'wrong-parent-hash', hash: sentinel });
    expect((await getBlock(node, 1_950)).previousBlockhash).toBe(sentinel);
  },
  'wrong-parent-slot': async () => {
    const truth = await getBlock(node, 1_950);
    node.faults.set({ kind: 'wrong-parent-slot', by: 2 });
    expect(await getBlock(node, 1_950)).toEqual({ ...truth, parentSlot: 1_947 });
  },
  'wrong-height': async () => {
    const truth = await getBlock(node, 1_950);
    node.faults.set({ kind: 'wrong-height' });
    expect(await getBlock(node, 1_950)).toEqual({ ...truth, blockHeight: truth.blockHeight + 1 });
  },
  'bad-hash': async () => {
    node.faults.set({ kind: 'bad-hash' });
    expect((await getBlock(node, 1_950)).blockhash).toMatch(/^\w+\r\n$/);
  },
  'incomplete-meta': async () => {
    await expectMissing('logs', (block) => metaOf(block)['logMessages']);
    await expectMissing('rewards', (block) => block.rewards);
    await expectMissing('meta', (block) => block.transactions?.[0]?.meta);
    await expectMissing('inner', (block) => metaOf(block)['innerInstructions']);
    await expectMissing('balances', (block) => metaOf(block)['postBalances']);
    await expectMissing('token-balances', (block) => metaOf(block)['preTokenBalances']);
    await expectMissing('loaded-addresses', (block) => metaOf(block)['loadedAddresses']);
  },
  'giant-block': async () => {
    node.faults.set({ kind: 'giant-block', bytes: 2_000_000, fromSlot: 2_000, toSlot: 2_000 });
    const text = await (await post(node, request)).text();
    expect(text.length).toBeGreaterThan(2_000_000);
    const { result } = JSON.parse(text) as { result: WireBlock };
    expect(result.transactions?.length).toBeGreaterThan(1_000);
    expect((await getBlock(node, 1_999)).transactions).toHaveLength(1);
  },
  lag: async () => {
    const before = [await slotAt('processed'), await slotAt('confirmed')];
    node.faults.set({ kind: 'lag', bySlots: 200 });
    expect([await slotAt('processed'), await slotAt('confirmed')]).toEqual(
      before.map((slot) => slot - 200),
    );
    expect((await call(node, 'getBlock', 1_900, blockConfig)).error?.code).toBe(-32004);
    expect((await call(node, 'getHealth')).error).toEqual({
      code: -32005,
      message: 'Node is behind by 200 slots',
      data: { numSlotsBehind: 200 },
    });
  },
  fork: async () => {
    const before = await recent(12);
    const final = await slotAt('finalized');
    node.faults.set({ kind: 'fork', depth: 4, forSlots: 3 });
    expect(await depthOfFork(before)).toBe(4);
    expect(await slotAt('confirmed')).toBe(2_000);
    advance(2);
    expect(await slotAt('confirmed')).toBe(2_002);
    expect(await depthOfFork(before)).toBe(4);
    advance(1);
    expect(await depthOfFork(before)).toBe(0);
    advance(30);
    expect(await slotAt('finalized')).toBeGreaterThan(final);
  },
  'fork-lower': async () => {
    const before = await recent(12);
    node.faults.set({ kind: 'fork-lower', depth: 5, lowerBy: 2 });
    expect(await slotAt('confirmed')).toBe(1_998);
    expect(await depthOfFork(before)).toBe(5);
    advance(1);
    expect(await slotAt('confirmed')).toBe(1_998);
    advance(2);
    expect(await slotAt('confirmed')).toBe(2_003);
    expect((await getBlock(node, 2_003)).parentSlot).toBe(1_998);
    await recent(8);
  },
  'fork-storm': async () => {
    node.faults.set({ kind: 'fork-storm', depth: 3 });
    const depths = new Set<number>();
    for (let slot = 0; slot < 25; slot++) {
      const before = await recent(12);
      advance(1);
      depths.add(await depthOfFork(before));
    }
    expect([...depths].sort()).toEqual([1, 2, 3]);
  },
  'fork-below-finality': async () => {
    const final = await slotAt('finalized');
    const blockAt = async (slot: number) => (await getBlock(node, slot)).blockhash;
    const [shared, changed] = [await blockAt(final - 3), await blockAt(final - 2)];
    node.faults.set({ kind: 'fork-below-finality', depth: 3 });
    expect(await blockAt(final - 3)).toBe(shared);
    expect(await blockAt(final - 2)).not.toBe(changed);
    expect(await slotAt('finalized')).toBe(final);
    advance(10);
    expect(await slotAt('finalized')).toBeGreaterThan(final);
    await recent(60);
  },
  'finality-regress': async () => {
    const final = await slotAt('finalized');
    node.faults.set({ kind: 'finality-regress', bySlots: 7 });
    expect(await slotAt('finalized')).toBe(final - 7);
  },
  'finality-stall': async () => {
    const final = await slotAt('finalized');
    node.faults.set({ kind: 'finality-stall' });
    advance(100);
    expect(await slotAt('finalized')).toBe(final);
    expect(await slotAt('confirmed')).toBe(2_100);
  },
  'finality-ahead': async () => {
    node.faults.set({ kind: 'finality-ahead', bySlots: 5 });
    expect(await slotAt('finalized')).toBe(2_005);
    expect((await call(node, 'getBlock', 2_005, blockConfig)).error?.code).toBe(-32004);
  },
  'other-genesis': async () => {
    const truth = (await call(node, 'getGenesisHash')).result;
    node.faults.set({ kind: 'other-genesis' });
    const other = (await call(node, 'getGenesisHash')).result;
    expect(other).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/);
    expect(other).not.toBe(truth);
  },
  prune: async () => {
    node.faults.set({ kind: 'prune', belowSlot: 1_900 });
    expect((await call(node, 'getFirstAvailableBlock')).result).toBe(1_900);
    expect((await call(node, 'getBlock', 1_899, blockConfig)).error?.code).toBe(-32001);
    expect((await call(node, 'getBlocks', 1_800, 1_901)).result).toEqual([1_900, 1_901]);
  },
  redeliver: async () => {
    node.faults.set({ kind: 'redeliver', copies: 3 });
    expect((await call(node, 'getBlocks', 1_900, 1_901)).result).toEqual([
      1_900, 1_900, 1_900, 1_901, 1_901, 1_901,
    ]);
    const inbox = await connect();
    await inbox.call('slotSubscribe');
    advance(1);
    const slots: unknown[] = [];
    for (let count = 0; count < 3; count++) {
      slots.push(((await inbox.nextResult()) as { slot: number }).slot);
    }
    expect(slots).toEqual([2_001, 2_001, 2_001]);
  },
  disorder: async () => {
    const inbox = await connect();
    await inbox.call('slotSubscribe');
    node.faults.set({ kind: 'disorder' });
    advance(4);
    const slots: number[] = [];
    for (let count = 0; count < 4; count++) {
      slots.push(((await inbox.nextResult()) as { slot: number }).slot);
    }
    expect(slots).toEqual([2_002, 2_001, 2_004, 2_003]);
  },
  'grpc-omit': async () => {
    const inbox = GrpcInbox.open(node, { slots: true });
    await inbox.ready();
    node.faults.set({ kind: 'grpc-omit', part: 'slot', fromSlot: 2_001, toSlot: 2_002 });
    advance(3);
    let update = await inbox.next();
    while (update.kind !== 'slot' || update.slot <= 2_000) update = await inbox.next();
    expect(update).toEqual({ kind: 'slot', slot: 2_003, status: 'processed' });
    inbox.close();
  },
  'grpc-end': async () => {
    const running = GrpcInbox.open(node, { slots: true });
    await running.ready();
    node.faults.set({ kind: 'grpc-end', times: 1, message: 'lagged' });
    expect(await running.ended).toEqual({ code: 13, message: 'lagged' });
  },
  'grpc-no-replay': async () => {
    node.faults.set({ kind: 'grpc-no-replay', status: 13, message: 'not supported' });
    const replay = GrpcInbox.open(node, { slots: true, fromSlot: 1_990 });
    expect(await replay.ended).toEqual({ code: 13, message: 'not supported' });
    const live = GrpcInbox.open(node, { slots: true });
    await live.ready();
    live.close();
  },
  'grpc-refuse': async () => {
    node.faults.set({ kind: 'grpc-refuse' });
    expect((await GrpcInbox.open(node, { slots: true }).ended).code).toBe(14);
  },
  'ws-close': async () => {
    const inbox = await connect();
    await inbox.call('slotSubscribe');
    node.faults.set({ kind: 'ws-close', times: 1 });
    expect(await inbox.closed).toBe(1011);
    const second = await connect();
    await second.call('slotSubscribe');
    node.faults.set({ kind: 'ws-close', methods: ['slotSubscribe'], code: 4_000 });
    advance(1);
    expect(await second.closed).toBe(4_000);
  },
};

async function batchIds(): Promise<unknown[]> {
  const items = [1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method: 'getHealth' }));
  return ((await (await post(node, items)).json()) as RpcReply[]).map(({ id }) => id);
}

describe('every fault', () => {
  test.each(Object.entries(effects))('behavior: %s has its effect', async (kind, check) => {
    await start();
    await check();
    node.faults.clear();
    expect((await call(node, 'getHealth')).result, `after ${kind}`).toBe('ok');
  });

  test('behavior: stall also stops notifications', async () => {
    await start();
    const inbox = await connect();
    await inbox.call('slotSubscribe');
    node.faults.set({ kind: 'stall', fromSlot: 2_001, toSlot: 2_003 });
    advance(4);
    expect(await inbox.nextResult()).toMatchObject({ slot: 2_004 });
  });
});
