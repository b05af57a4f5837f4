import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { HttpPoster } from './http-poster.ts';

/** A server that returns a result in chunks, all in one write to the socket. */
async function serveChunks(chunks: readonly string[]): Promise<string> {
  const server = createServer((_, response) => {
    response.socket?.cork();
    for (const chunk of chunks) response.write(chunk);
    response.end(() => undefined);
    response.socket?.uncork();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  });
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('default: a reply in many short chunks, as proxies send it, is read completely, and so is the next one', async () => {
  const words = Array.from({ length: 400 }, (_, i) => `"${String(i).padStart(100, 'x')}"`);
  const chunks = words.map((word, i) => (i === 0 ? `{"words":[${word}` : `,${word}`));
  const origin = await serveChunks(['{"jsonrpc":"2.0","result":', ...chunks, ']},"id":7}']);
  const poster = new HttpPoster({ origin, connectionCount: 1 });
  onTestFinished(() => poster.close());
  const request = { path: '/', headers: {}, body: '{}', replyBytesMax: 1 << 20, resultOf: 7 };
  for (let call = 0; call < 2; call++) {
    const answer = await poster.post(request, new AbortController().signal);
    if (answer.kind !== 'ok') return expect.fail(JSON.stringify(answer));
    expect(Buffer.from(answer.value.bytes).toString()).toBe(`{"words":[${words.join()}]}`);
  }
});
