import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import { backoffMs } from '@sluice/base/retry';
import { afterEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { refusalOfRpcError, refusalOfStatus } from '../refusal.ts';
import { SourceHealth } from '../source-health.ts';
import { findResult } from './find-result.ts';
import { RpcClient } from './rpc-client.ts';
import { scanResult } from './scan-result.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startClient(
  answer: (request: IncomingMessage, response: ServerResponse, body: { id: number }) => void,
  options: { replyBytesMax?: number; credentials?: string } = {},
): Promise<RpcClient> {
  const server: Server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    answer(request, response, JSON.parse(text) as { id: number });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://${options.credentials ?? ''}127.0.0.1:${port}/path?key=secret`;
  const { replyBytesMax = 10_000 } = options;
  const client = new RpcClient({ url, replyBytesMax }, { clock: systemClock });
  closers.push(() => client.close());
  return client;
}

const call = (client: RpcClient, timeoutMs = 30_000) =>
  client.call('getSlot', [], { timeoutMs, signal: new AbortController().signal });

describe('a reply', () => {
  test('default: the result is returned, and the key was sent to the node', async () => {
    let asked = '';
    const client = await startClient(
      (request, response, { id }) => {
        asked = `${request.url} ${request.headers.authorization}`;
        response.end(JSON.stringify({ jsonrpc: '2.0', result: 7, id }));
      },
      { credentials: 'user:pass@' },
    );
    expect(await call(client)).toEqual({ kind: 'ok', value: 7 });
    expect(asked).toBe(`/path?key=secret Basic ${Buffer.from('user:pass').toString('base64')}`);
  });

  test('limit: F-16 an endless body is cut off at the limit', async () => {
    const client = await startClient((_request, response) => {
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(4_096)));
      };
      response.on('drain', pour);
      pour();
    });
    expect(await call(client)).toMatchObject({ kind: 'refused', reason: 'malformed' });
  });

  test('limit: a body that arrives too slowly is abandoned at the timeout', async () => {
    const client = await startClient((_request, response) => response.write('{'));
    expect(await call(client, 100)).toMatchObject({
      reason: 'outage',
      cause: 'no response in time',
    });
  });

  test('behavior: an aborted call ends immediately', async () => {
    let isAsked = false;
    const client = await startClient(() => {
      isAsked = true;
    });
    const options = { timeoutMs: 60_000, signal: AbortSignal.abort() };
    expect(await client.call('getSlot', [], options)).toMatchObject({ kind: 'refused' });
    expect(isAsked).toBe(false);
  });

  test('behavior: S-10 a redirect is not followed', async () => {
    let count = 0;
    const client = await startClient((_request, response) => {
      count++;
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await call(client)).toMatchObject({ reason: 'outage', cause: 'HTTP 302' });
    expect(count).toBe(1);
  });

  test('error: a reply to another call is refused', async () => {
    const client = await startClient((_request, response) =>
      response.end('{"jsonrpc":"2.0","result":7,"id":99}'),
    );
    expect(await call(client)).toMatchObject({ reason: 'malformed' });
  });

  test('behavior: F-17 the error for an unreachable node does not contain its address', async () => {
    const client = new RpcClient({ url: 'http://127.0.0.1:1/secret' }, { clock: systemClock });
    closers.push(() => client.close());
    const answer = await call(client);
    expect(answer).toMatchObject({ kind: 'refused', reason: 'outage' });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});

test('behavior: the bytes of a result are cut out of the layouts that most servers write, and no others', () => {
  const cut = (text: string) => {
    const bytes = Buffer.from(text);
    const range = findResult({ head: bytes, tail: bytes, length: bytes.length }, 7);
    return range === undefined ? undefined : text.slice(range.start, range.end);
  };
  expect(cut('{"jsonrpc":"2.0","result":{"a":1},"id":7}\n')).toBe('{"a":1}');
  expect(cut('{"jsonrpc":"2.0","id":7,"result":{"a":1}}\r\n ')).toBe('{"a":1}');
  expect(cut('{"jsonrpc":"2.0","result":{"a":{"id":7}},"id":7}')).toBe('{"a":{"id":7}}');
  expect(cut('{"jsonrpc":"2.0","id":7,"result":{"a":{}}}')).toBe('{"a":{}}');
  expect(cut('{"jsonrpc":"2.0","result":{"a":1},"id":8}')).toBeUndefined();
  expect(cut('{"jsonrpc":"2.0","result":null,"id":7}')).toBeUndefined();
  expect(cut('{"jsonrpc":"2.0","error":{"code":1},"id":7}')).toBeUndefined();
  expect(cut('')).toBeUndefined();
});

test('behavior: a result is found in any other layout of JSON', async () => {
  const cut = (text: string) => {
    const range = scanResult(Buffer.from(text), 7);
    return range === undefined ? undefined : text.slice(range.start, range.end);
  };
  const result = '{"a":{"id":8,"result":[1,"}\\"]"]},"b":-1.5e3}';
  expect(cut(`{"result":${result},"id":7,"jsonrpc":"2.0"}`)).toBe(result);
  expect(cut(`\n{ "id" : 7 , "error" : null, "result"\t: ${result} }\n`)).toBe(result);
  expect(cut(`{"id":7,"context":[{}],"result":${result}}`)).toBe(result);
  const refused = [
    `{"id":70,"result":${result}}`,
    `{"result":${result}}`,
    '{"id":7,"result":[]}',
    '{"id":7,"result":null}',
    `{"id":7,"error":{"code":1},"result":${result}}`,
    `{"id":7,"result":{},"result":${result}}`,
    `{"id":7,"result":${result}`,
    `{"id":7,"result":${result}} {`,
    `{"id":7 "result":${result}}`,
    '{"id":7,"result":}',
    '{"id":7,"result',
    '{}',
    '',
  ];
  for (const text of refused) expect([text, cut(text)]).toEqual([text, undefined]);
  const client = await startClient((_request, response) =>
    response.end(`{"result": ${result}, "id": 1, "jsonrpc": "2.0"}`),
  );
  const { signal } = new AbortController();
  const answer = await client.callForBytes('getBlock', [], { timeoutMs: 5_000, signal });
  expect(answer).toMatchObject({ kind: 'ok', value: Buffer.from(result) });
});

test.each([
  [-32001, '', 'pruned'],
  [-32004, '', 'not-available'],
  [-32005, '', 'behind'],
  [-32007, 'Slot 5 was skipped, or missing', 'skipped-hint'],
  [-32007, 'rate limited', 'outage'],
  [-32009, 'Slot 5 was skipped, or missing in long-term storage', 'skipped-hint'],
  [-32011, '', 'incapable'],
  [-32014, '', 'pending'],
  [-32015, '', 'version'],
  [-32602, '', 'request-wrong'],
  [-32603, '', 'outage'],
  [-1, '', 'outage'],
])('behavior: code %i with the text "%s" means %s', (code, text, reason) => {
  expect(refusalOfRpcError(code, text).reason).toBe(reason);
});

test('behavior: a rejected key is distinguished from an outage, and Retry-After is limited', () => {
  expect(refusalOfStatus(401, undefined).reason).toBe('key');
  expect(refusalOfStatus(429, '2')).toMatchObject({ reason: 'outage', retryAfterMs: 2_000 });
  expect(refusalOfStatus(429, '999999').retryAfterMs).toBe(60_000);
  expect(refusalOfStatus(503, 'soon').retryAfterMs).toBeUndefined();
});

test('behavior: L-12 waits double up to ten seconds, with jitter, and five strikes cause a quarantine', async () => {
  const random = Random.fromSeed(3);
  for (let attempt = 1; attempt < 20; attempt++) {
    const ceiling = Math.min(10_000, 100 * 2 ** (attempt - 1));
    const waits = Array.from({ length: 200 }, () =>
      backoffMs(attempt, { firstMs: 100, maxMs: 10_000 }, random),
    );
    expect(Math.max(...waits)).toBeLessThanOrEqual(ceiling);
    expect(Math.max(...waits)).toBeGreaterThan(ceiling * 0.9);
    expect(Math.min(...waits)).toBeLessThan(ceiling * 0.2);
  }
  const clock = new ManualClock();
  const health = new SourceHealth('one', { clock, random });
  health.responded();
  for (let i = 0; i < 4; i++) health.strike('lie');
  clock.advance(10_000);
  expect(health.isReady).toBe(true);
  health.strike('lie');
  expect(health.status.state).toBe('quarantined');
  clock.advance(59_999);
  expect(health.isReady).toBe(false);
  clock.advance(1);
  expect(health.isReady).toBe(true);
  // One probe: the source answers, is wrong again, and goes back into quarantine.
  health.responded();
  health.strike('lie');
  expect(health.status.state).toBe('quarantined');
});
