import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { listeningPort } from '@sluice/base/listening-port';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { S3Client } from './s3-client.ts';

const requestMsMax = 250;
let clock: ManualClock;
let server: Server;
let client: S3Client;
let requestCount: number;
/** How often the client has read the clock, which it does when it makes progress. */
let readCount: number;

beforeEach(() => {
  clock = new ManualClock();
  readCount = 0;
});

async function start(
  handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
) {
  requestCount = 0;
  server = createServer((request, response) => {
    requestCount++;
    void handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const endpoint = `http://127.0.0.1:${listeningPort(server)}`;
  const address = { bucket: 'test', prefix: '', endpoint, region: 'x', pathStyle: true };
  client = new S3Client(
    { ...address, requestMsMax, connectionCountMax: 2 },
    {
      credentials: async () => credentials,
      clock: {
        unixMs: () => clock.unixMs(),
        nowMs: () => {
          readCount++;
          return clock.nowMs();
        },
        // The waits between attempts, which have no signal, are skipped.
        sleep: async (ms, signal) => {
          if (signal !== undefined) await clock.sleep(ms, signal);
        },
      },
      random: () => 0,
    },
  );
}
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('limit: an upload may take longer than the limit as long as it makes progress', async () => {
  const body = new Uint8Array(24 << 20).fill(7);
  let byteLength = 0;
  await start((request, response) => {
    request.on('data', (chunk: Buffer) => {
      byteLength += chunk.length;
      // A slow connection: each megabyte takes a while. The system accepts a few of them before the server reads them.
      if (byteLength % (1 << 20) < chunk.length) clock.advance(requestMsMax / 20);
    });
    request.on('end', () => response.end());
  });
  await client.put('key', body);
  expect([byteLength, requestCount]).toEqual([body.length, 1]);
  expect(clock.nowMs()).toBeGreaterThan(requestMsMax);
});

test('limit: a download may take longer than the limit as long as it makes progress', async () => {
  await start(async (_request, response) => {
    response.setHeader('content-length', 8);
    for (let i = 0; i < 8; i++) {
      const before = readCount;
      response.write('x');
      while (readCount === before) await nextTurn();
      clock.advance(100);
    }
    response.end();
  });
  expect(await client.get('key')).toHaveLength(8);
  expect(requestCount).toBe(1);
  expect(clock.nowMs()).toBeGreaterThan(requestMsMax);
});

test('limit: after the last byte, a slow connection has time for what the system has accepted but not sent', async () => {
  await start(async (request, response) => {
    for await (const chunk of request) if (chunk.length === 0) break;
    while (clock.nowMs() < requestMsMax * 2) {
      clock.advance(1);
      await nextTurn();
    }
    response.end();
  });
  await client.put('key', new Uint8Array(2 << 20));
  expect(requestCount).toBe(1);
});

test('error: store-unreachable: an upload without progress is aborted and repeated', async () => {
  await start((request) => void request.pause());
  let isSettled = false;
  const upload = client
    .put('key', new Uint8Array(24 << 20))
    .catch((error: unknown) => error)
    .finally(() => {
      isSettled = true;
    });
  while (!isSettled) {
    clock.advance(1);
    await nextTurn();
  }
  expect(await upload).toMatchObject({
    code: 'store-unreachable',
    detail: { reason: 'no progress' },
  });
  expect(requestCount).toBe(6);
});
