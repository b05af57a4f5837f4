import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@sluice/base/clock';
import { afterEach, expect, test } from 'vitest';
import { FetchThread } from './fetch-thread.ts';
import { RpcClient } from './rpc-client.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Starts a client that reads blocks through a thread, and a server with the given behavior. */
async function startClient(
  answer: RequestListener,
): Promise<{ client: RpcClient; thread: FetchThread }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const fetchThread = new FetchThread();
  closers.push(() => fetchThread.close());
  const options = { url: `http://127.0.0.1:${port}`, replyBytesMax: 1_000_000 };
  const client = new RpcClient(options, { clock: systemClock, fetchThread });
  closers.push(() => client.close());
  return { client, thread: fetchThread };
}

const ask = (client: RpcClient) =>
  client.callForBytes('getBlock', [], { timeoutMs: 30_000, signal: new AbortController().signal });

function promiseWithResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const block = `{"text":"${'x'.repeat(300_000)}"}`;

test('default: a result of many reads is returned alone, in memory that is reused after its release', async () => {
  let id = 0;
  const { client } = await startClient((_request, response) => {
    id++;
    response.end(`{"jsonrpc":"2.0","result":${block},"id":${id}}`);
  });
  for (let count = 0; count < 3; count++) {
    const answer = await ask(client);
    if (answer.kind !== 'ok' || answer.value === null) throw new Error(JSON.stringify(answer));
    expect(Buffer.from(answer.value).toString()).toBe(block);
    expect(answer.value.buffer).toBeInstanceOf(SharedArrayBuffer);
    // Each view of shared memory is a new object. A value written there shows that the memory is the same.
    const beyond = new Uint8Array(answer.value.buffer, block.length);
    expect(beyond.every((byte) => byte === (count === 0 ? 0 : 7))).toBe(true);
    beyond.fill(7);
    client.giveBack(answer.value);
  }
});

test('error: refusals are the same as without a thread', async () => {
  const replies = ['{"jsonrpc":"2.0","result":null,"id":1}', 'x'.repeat(1_000_001), undefined];
  const { client } = await startClient((_request, response) => {
    const reply = replies.shift();
    response.writeHead(reply === undefined ? 429 : 200, { 'retry-after': '2' }).end(reply);
  });
  expect(await ask(client)).toEqual({ kind: 'ok', value: null });
  expect(await ask(client)).toMatchObject({ reason: 'malformed' });
  expect(await ask(client)).toMatchObject({ reason: 'outage', retryAfterMs: 2_000 });
});

test('limit: an aborted call closes its connection', async () => {
  const over = new AbortController();
  const { promise: isClosed, resolve: closed } = promiseWithResolver();
  const { client } = await startClient((_request, response) => {
    response.on('close', closed).write('{');
    over.abort();
  });
  const options = { timeoutMs: 60_000, signal: over.signal };
  expect(await client.callForBytes('getBlock', [], options)).toMatchObject({ reason: 'outage' });
  await isClosed;
});

test('limit: open and later calls fail as an outage when the thread closes', async () => {
  const { promise: isAsked, resolve: asked } = promiseWithResolver();
  const { client, thread } = await startClient(() => asked());
  const answer = ask(client);
  await isAsked;
  await thread.close();
  expect(await answer).toMatchObject({ reason: 'outage' });
  expect(await ask(client)).toMatchObject({ reason: 'outage' });
});
