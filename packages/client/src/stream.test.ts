import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { ClientEvent } from './base/client-events.ts';
import { createClient } from './create-client.ts';
import { wrongHash } from './stream/find-common-block.ts';
import { codeOf, collect } from './testing/collect.ts';
import { ModelChain } from './testing/model-chain.ts';
import { scaledClock } from './testing/scaled-clock.ts';
import { type Behavior, ScriptedService } from './testing/scripted-service.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const dependencies = { clock: scaledClock(100), random: () => 0.5 };

async function start(numbers: readonly number[], finalizedCount = 1) {
  const chain = new ModelChain();
  let last = -1;
  chain.extend(
    numbers.map((number) => {
      const step = { gap: number - last, matches: true };
      last = number;
      return step;
    }),
  );
  chain.finalize(numbers.length - finalizedCount);
  const service = await ScriptedService.start(chain);
  closers.push(() => service.close());
  return { chain, service };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/datasets/a`;
}

function behave(service: ScriptedService, behaviors: readonly Behavior[]): void {
  const left = [...behaviors];
  service.next = () => left.shift() ?? {};
}

const query = { fromBlock: 0, fields: { transaction: { fee: true } }, transactions: [{}] } as const;

test('default: a bounded range gives blocks, the finalized head and exact quantities, and ends', async () => {
  const { service } = await start([0, 1, 3, 7], 2);
  const batches = await collect(
    createClient({ url: service.url }).stream({ ...query, toBlock: 3 }),
  );
  expect(batches).toHaveLength(1);
  const [batch] = batches;
  if (batch?.kind !== 'blocks') throw new Error('no blocks');
  expect(batch.blocks.map(({ header }) => header)).toEqual([
    { number: 0, hash: 'h0b0' },
    { number: 1, hash: 'h1b0' },
    { number: 3, hash: 'h3b0' },
  ]);
  expect(batch.blocks[1]?.transactions[0]?.fee).toBe(18446744073709550001n);
  expect(batch.finalizedHead).toEqual({ number: 1, hash: 'h1b0' });
  // Blocks below the finalized one are dropped, because they are never replaced.
  expect(batch.cursor).toEqual({
    blocks: [
      { number: 1, hash: 'h1b0' },
      { number: 3, hash: 'h3b0' },
    ],
  });
  expect(service.requests).toHaveLength(1);
});

test('behavior: the hash and the number are always selected, and the parent hash is sent after the first response', async () => {
  const { service } = await start([0, 1, 2]);
  behave(service, [{ lineCountMax: 1 }]);
  await collect(createClient({ url: service.url }).stream({ ...query, toBlock: 2 }));
  expect(service.requests.map(({ body }) => [body.fromBlock, body.parentBlockHash])).toEqual([
    [0, undefined],
    [1, 'h0b0'],
  ]);
  expect(service.requests[0]?.body['fields']).toMatchObject({
    block: { number: true, hash: true },
    transaction: { fee: true },
  });
});

test('behavior: a range whose last slots were skipped ends after two empty responses', async () => {
  const { service } = await start([0, 1, 9]);
  const batches = await collect(
    createClient({ url: service.url }).stream({ ...query, toBlock: 5 }),
  );
  expect(batches).toHaveLength(1);
  const encodings = service.requests.map(({ headers }) => headers['accept-encoding']);
  expect(encodings).toHaveLength(3);
  expect(encodings[2]).toBe('identity');
});

test('behavior: a fork is a rollback to the newest common block, then the new blocks', async () => {
  const { chain, service } = await start([0, 1, 2, 3]);
  const stream = createClient({ url: service.url }, dependencies).stream(query);
  expect((await stream.next()).value).toMatchObject({ kind: 'blocks' });
  chain.fork(2, [{ gap: 2, matches: true }]);
  const { value: rollback } = await stream.next();
  expect(rollback).toMatchObject({ kind: 'rollback', to: { number: 1, hash: 'h1b0' } });
  const { value: blocks } = await stream.next();
  expect(blocks).toMatchObject({
    kind: 'blocks',
    blocks: [{ header: { number: 3, hash: 'h3b1' } }],
  });
  await stream.return?.();
});

test('behavior: after a 409 pages are requested one by one, with a hash that no block has', async () => {
  const { chain, service } = await start([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  service.next = () => ({ pageLength: 2 });
  const stream = createClient({ url: service.url }, dependencies).stream(query);
  await stream.next();
  const before = service.requests.length;
  chain.fork(
    7,
    [1, 1, 1, 1, 1, 1, 1, 1].map((gap) => ({ gap, matches: true })),
  );
  expect((await stream.next()).value).toMatchObject({ kind: 'rollback', to: { number: 1 } });
  const pages = service.requests
    .slice(before)
    .map(({ body }) => [body.fromBlock, body.parentBlockHash]);
  expect(pages).toEqual([
    [9, 'h8b0'],
    [7, wrongHash],
    [5, wrongHash],
    [3, wrongHash],
  ]);
  await stream.return?.();
});

test('behavior: pages between the blocks of the consumer are not requested', async () => {
  const chain = new ModelChain();
  chain.extend(Array.from({ length: 400 }, (_, i) => ({ gap: 1, matches: i === 10 || i === 399 })));
  const service = await ScriptedService.start(chain);
  closers.push(() => service.close());
  const client = createClient({ url: service.url }, dependencies);
  const stream = client.stream({ ...query, fromBlock: 5 });
  await stream.next();
  chain.fork(3, [
    { gap: 1, matches: true },
    { gap: 1, matches: true },
    { gap: 1, matches: true },
  ]);
  const before = service.requests.length;
  expect((await stream.next()).value).toMatchObject({ kind: 'rollback', to: { number: 10 } });
  expect(service.requests.slice(before).map(({ body }) => body.fromBlock)).toEqual([400, 11]);
  await stream.return?.();
});

test('behavior: a stream that has everything since its first block rolls back to the block before it', async () => {
  const { chain, service } = await start([0, 1, 2, 3, 4, 5], 0);
  const stream = createClient({ url: service.url }, dependencies).stream({
    ...query,
    fromBlock: 4,
  });
  await stream.next();
  chain.fork(3, [
    { gap: 2, matches: true },
    { gap: 1, matches: true },
    { gap: 1, matches: true },
  ]);
  expect((await stream.next()).value).toMatchObject({ kind: 'rollback', to: { number: 2 } });
  const { value } = await stream.next();
  expect(value).toMatchObject({
    blocks: [{ header: { number: 4 } }, { header: { number: 5 } }, { header: { number: 6 } }],
  });
  await stream.return?.();
});

test('error: no-common-block when every block of the cursor was replaced; no block is guessed', async () => {
  const { chain, service } = await start([0, 1, 2, 3, 4, 5], 0);
  const client = createClient({ url: service.url, backlogCountMax: 2 }, dependencies);
  const stream = client.stream(query);
  await stream.next();
  chain.fork(
    3,
    Array.from({ length: 4 }, () => ({ gap: 1, matches: true })),
  );
  expect(await codeOf(stream.next())).toBe('no-common-block');
});

test('error: no-common-block for a parentBlockHash of the query that is not on the chain', async () => {
  const { service } = await start([0, 1, 2, 3]);
  const client = createClient({ url: service.url }, dependencies);
  const wrong = client.stream({ ...query, fromBlock: 2, toBlock: 3, parentBlockHash: 'other' });
  expect(await codeOf(collect(wrong))).toBe('no-common-block');
  const right = client.stream({ ...query, fromBlock: 2, toBlock: 3, parentBlockHash: 'h1b0' });
  expect(await collect(right)).toHaveLength(1);
});

test('behavior: an abort ends a pending next in the same tick, with the reason of the signal', async () => {
  const { service } = await start([0]);
  const stop = new AbortController();
  const stream = createClient({ url: service.url }).stream(query, { signal: stop.signal });
  await stream.next();
  const requested = new Promise<void>((resolve) => {
    service.next = () => {
      resolve();
      return { instead: 'stall' };
    };
  });
  const pending = stream.next();
  let state = 'pending';
  pending.catch(() => {
    state = 'rejected';
  });
  const reason = new Error('enough');
  await requested;
  await new Promise((resolve) => setImmediate(resolve));
  expect(state).toBe('pending');
  stop.abort(reason);
  await new Promise((resolve) => setImmediate(resolve));
  expect(state).toBe('rejected');
  await expect(pending).rejects.toBe(reason);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test('behavior: leaving a stream closes its connection, also while a next is pending', async () => {
  const closings: Promise<unknown>[] = [];
  const server = createServer((_, response) => {
    closings.push(new Promise((resolve) => response.on('close', resolve)));
    response.writeHead(200).write('{"header":{"number":0,"hash":"h"}}\n');
  });
  const url = await listen(server);
  const client = createClient({ url });
  for await (const batch of client.stream(query)) {
    expect(batch.kind).toBe('blocks');
    break;
  }
  const stream = client.stream(query);
  await stream.next();
  const pending = stream.next();
  await stream.return?.();
  expect(await pending).toEqual({ done: true, value: undefined });
  expect(closings).toHaveLength(2);
  await Promise.all(closings);
});

/** Waits until a response accepts more data or is closed. Leaves no listener behind. */
test('limit: a consumer that does not read makes the service wait', async () => {
  const pad = 'x'.repeat(50_000);
  let [number, written] = [0, 0];
  // A body that is produced only when it is read, as a socket with backpressure.
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const line = `{"header":{"number":${number++},"hash":"h"},"logs":[{"message":"${pad}"}]}\n`;
        written += line.length;
        controller.enqueue(Buffer.from(line));
      },
    },
    { highWaterMark: 0 },
  );
  const fetch = async () => new Response(body);
  const stream = createClient({ url: 'http://a/datasets/a', fetch, batchBytesMax: 100_000 }).stream(
    {
      fromBlock: 0,
      fields: { log: { message: true } },
      logs: [{}],
    },
  );
  const { value } = await stream.next();
  if (value?.kind !== 'blocks') throw new Error('no blocks');
  expect(value.blocks.length).toBeLessThan(10);
  // If the client did not wait for the consumer, it would read more in these turns.
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  expect(written).toBeLessThan(1_000_000);
  await stream.return?.();
});

test('limit: line-too-long ends the stream, because a retry would return the same line', async () => {
  let requestCount = 0;
  const server = createServer((_, response) => {
    requestCount++;
    response.on('error', () => undefined).end('x'.repeat(1_000_000));
  });
  const client = createClient({ url: await listen(server), lineBytesMax: 100_000 }, dependencies);
  expect(await codeOf(collect(client.stream(query)))).toBe('line-too-long');
  expect(requestCount).toBe(1);
});

test('behavior: when a service stalls or does not respond, its replica is used without loss or repetition', async () => {
  const { chain, service: first } = await start([0, 1, 2, 3]);
  const second = await ScriptedService.start(chain);
  closers.push(() => second.close());
  behave(first, [{ lineCountMax: 2 }, { instead: 'stall' }]);
  const events: ClientEvent[] = [];
  const client = createClient(
    { url: [first.url, second.url], onEvent: (event) => events.push(event) },
    dependencies,
  );
  const batches = await collect(client.stream({ ...query, toBlock: 3 }));
  const numbers = batches.flatMap((batch) =>
    batch.kind === 'blocks' ? batch.blocks.map(({ header }) => header.number) : [],
  );
  expect(numbers).toEqual([0, 1, 2, 3]);
  expect(second.requests.map(({ body }) => [body.fromBlock, body.parentBlockHash])).toEqual([
    [2, 'h1b0'],
  ]);
  expect(events.filter(({ kind }) => kind === 'failover')).toEqual([
    { kind: 'failover', from: first.url, to: second.url },
  ]);
  const retry = events.find((event) => event.kind === 'retry');
  expect(retry).toMatchObject({ attempt: 1, waitMs: 0, error: { code: 'timeout' } });
});

test('error: response-malformed after five responses that are not a stream', async () => {
  const { service } = await start([0, 1]);
  service.next = () => ({ instead: 'html' });
  const client = createClient({ url: service.url }, dependencies);
  expect(await codeOf(collect(client.stream(query)))).toBe('response-malformed');
  expect(service.requests).toHaveLength(5);
});

test('behavior: the dialect solana has its own header prefix, and decimal text becomes bigint', async () => {
  const { service } = await start([0, 1, 2], 2);
  service.prefix = 'x-sqd-';
  const client = createClient({ url: service.url }, dependencies);
  const [batch] = await collect(client.stream({ ...query, type: 'solana', toBlock: 2 }));
  expect(batch?.finalizedHead).toEqual({ number: 1, hash: 'h1b0' });
  expect(service.requests[0]?.body['type']).toBe('solana');
  const fields = service.requests[0]?.body['fields'] as { block: object };
  expect(Object.keys(fields.block)).toEqual(['number', 'hash']);
});

test('behavior: with closing, the closing record of each response is an event and not a block', async () => {
  const record = { reason: 'complete', fromBlock: 0, toBlock: 5, lastBlock: null };
  const lines = ['{"header":{"number":0,"hash":"a"}}', JSON.stringify({ closing: record })];
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.end(paths.length === 1 ? `${lines.join('\n')}\n` : `${lines[1]}\n`);
  });
  const events: ClientEvent[] = [];
  const url = await listen(server);
  const client = createClient({ url, onEvent: (event) => events.push(event) }, dependencies);
  const batches = await collect(client.stream({ ...query, toBlock: 5 }, { closing: true }));
  expect(batches.map((batch) => batch.kind === 'blocks' && batch.blocks.length)).toEqual([1]);
  expect(paths).toEqual(Array(3).fill('/datasets/a/stream?closing=true'));
  const closings = events.filter(({ kind }) => kind === 'closing');
  expect(closings).toEqual(Array(3).fill({ kind: 'closing', url, ...record }));
});

test('error: response-malformed for a closing record that is not JSON', async () => {
  let count = 0;
  const server = createServer((_request, response) => {
    const isWrong = count++ === 0;
    const record = isWrong ? 'x' : '{"reason":"complete"}';
    response.end(`{"header":{"number":5,"hash":"a"}}\n{"closing":${record}}\n`);
  });
  const events: ClientEvent[] = [];
  const url = await listen(server);
  const client = createClient({ url, onEvent: (event) => events.push(event) }, dependencies);
  const stream = client.stream({ ...query, fromBlock: 5, toBlock: 5 }, { closing: true });
  await collect(stream).catch(() => undefined);
  const retries = events.flatMap((event) => (event.kind === 'retry' ? [event.error.code] : []));
  expect(retries[0]).toBe('response-malformed');
});
