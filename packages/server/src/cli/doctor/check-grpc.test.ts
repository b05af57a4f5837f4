import { once } from 'node:events';
import { listeningPort } from '@sluice/base/listening-port';
import { createGrpcServer, type ServedCall } from '@sluice/grpc/grpc-server';
import { GRPC_CODES } from '@sluice/grpc/grpc-status';
import { encodeSubscribeUpdate } from '@sluice/grpc/subscribe-update';
import { afterEach, expect, test } from 'vitest';
import { checkSources } from './check-sources.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function check(serve: (call: ServedCall) => void) {
  const { server, stop } = createGrpcServer(serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(stop);
  const url = `http://127.0.0.1:${listeningPort(server)}`;
  const source = { kind: 'grpc', url, token: 'secret', commitment: 'confirmed' } as const;
  return checkSources([{ ...source, messageBytesMax: 1 << 26 }], () => 0);
}

test('default: a node that sends slots is in order, and gets the token', async () => {
  let token: unknown;
  const findings = await check((call) => {
    token = call.metadata['x-token'];
    call.onMessage = () => {
      call.send(encodeSubscribeUpdate({ kind: 'ping' }));
      call.send(encodeSubscribeUpdate({ kind: 'slot', slot: 77, status: 'confirmed' }));
    };
  });
  expect(findings).toEqual([
    { area: 'sources', state: 'ok', text: 'grpc-1 responds, is at slot 77' },
  ]);
  expect(token).toBe('secret');
});

test('error: a rejected token and a server of another kind have a remedy, and the token is not printed', async () => {
  const rejected = await check((call) =>
    call.end({ code: GRPC_CODES.unauthenticated, message: 'no such token' }),
  );
  expect(rejected).toMatchObject([
    { state: 'wrong', text: 'grpc-1 refuses the request: no such token' },
  ]);
  expect(rejected[0]?.remedy).toContain('SLUICE_GRPC_TOKEN');
  const other = await check((call) =>
    call.end({ code: GRPC_CODES.unimplemented, message: 'unknown service' }),
  );
  expect(other).toMatchObject([
    { state: 'wrong', text: 'grpc-1 does not send slots: unknown service' },
  ]);
  expect(JSON.stringify([...rejected, ...other])).not.toContain('secret');
});
