import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { systemClock } from '@sluice/base/clock';
import { listeningPort } from '@sluice/base/listening-port';
import { afterEach, expect, test } from 'vitest';
import { S3Client } from './s3-client.ts';

const requestMsMax = 250;
let server: Server;
let client: S3Client;
let requestCount: number;

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
    // Only the waits between attempts are skipped; the limit under test is real time.
    {
      credentials: async () => credentials,
      clock: { ...systemClock, sleep: (ms, signal) => systemClock.sleep(signal ? ms : 0, signal) },
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
  let elapsedMs = 0;
  await start((request, response) => {
    const startMs = systemClock.nowMs();
    request.on('data', (chunk: Buffer) => {
      byteLength += chunk.length;
      // A slow connection: a pause after each megabyte.
      if (byteLength % (1 << 20) >= chunk.length) return;
      request.pause();
      void systemClock.sleep(30).then(() => request.resume());
    });
    request.on('end', () => {
      elapsedMs = systemClock.nowMs() - startMs;
      response.end();
    });
  });
  await client.put('key', body);
  expect([byteLength, requestCount]).toEqual([body.length, 1]);
  expect(elapsedMs).toBeGreaterThan(requestMsMax);
});

test('limit: a download may take longer than the limit as long as it makes progress', async () => {
  await start(async (_request, response) => {
    response.setHeader('content-length', 8);
    for (let i = 0; i < 8; i++) {
      response.write('x');
      await systemClock.sleep(100);
    }
    response.end();
  });
  expect(await client.get('key')).toHaveLength(8);
  expect(requestCount).toBe(1);
});

test('limit: after the last byte, a slow connection has time for what the system has accepted but not sent', async () => {
  await start(async (request, response) => {
    for await (const chunk of request) if (chunk.length === 0) break;
    await systemClock.sleep(requestMsMax * 2);
    response.end();
  });
  await client.put('key', new Uint8Array(2 << 20));
  expect(requestCount).toBe(1);
});

test('error: store-unreachable: an upload without progress is aborted and repeated', async () => {
  await start((request) => void request.pause());
  await expect(client.put('key', new Uint8Array(24 << 20))).rejects.toMatchObject({
    code: 'store-unreachable',
    detail: { reason: 'no progress' },
  });
  expect(requestCount).toBe(6);
});
