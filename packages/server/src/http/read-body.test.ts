import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { isCodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { settle } from '../stream/testing/manual-clock.ts';
import { ByteMeter, HeldBytes } from './byte-meter.ts';
import { checkBodyHeaders, readBody } from './read-body.ts';

function requestWith(headers: IncomingHttpHeaders = {}): PassThrough & IncomingMessage {
  return Object.assign(new PassThrough(), { headers }) as unknown as PassThrough & IncomingMessage;
}

function read(request: IncomingMessage, bodyBytesMax = 20, queryBytesMax = 1_000) {
  const meter = new ByteMeter(() => queryBytesMax);
  return { body: readBody(request, { bodyBytesMax, held: new HeldBytes(meter) }), meter };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (isCodedError(error) ? error.code : error),
  );

const strict = { isTypeOptional: false };
const gzip = { 'content-encoding': 'gzip' };

test.each([
  'application/json',
  'APPLICATION/JSON ',
  'application/json;charset=utf-8',
  'application/json ; charset="UTF-8" ',
])('default: the type %s is accepted', (type) => {
  expect(() => checkBodyHeaders(requestWith({ 'content-type': type }), strict)).not.toThrow();
});

test.each([
  [undefined, 'nothing'],
  ['text/json', '"text/json"'],
  ['xapplication/json', '"xapplication/json"'],
  ['application/jsonl', '"application/jsonl"'],
  ['application/json; charset=utf-16', '"application/json; charset=utf-16"'],
  ['x'.repeat(65), `"${'x'.repeat(64)}"`],
])('error: content-type-wrong for %s', (type, found) => {
  const headers = type === undefined ? {} : { 'content-type': type };
  expect(() => checkBodyHeaders(requestWith(headers), strict)).toThrow(
    expect.objectContaining({ code: 'content-type-wrong', detail: { found } }),
  );
});

test('behavior: a dataset with the dialect solana accepts a body without a type, but no other type', () => {
  const check = (headers: Record<string, string>) =>
    checkBodyHeaders(requestWith(headers), { isTypeOptional: true });
  expect(() => check({})).not.toThrow();
  expect(() => check({ 'content-type': 'text/json' })).toThrow(
    expect.objectContaining({ code: 'content-type-wrong' }),
  );
});

test('error: content-encoding-wrong for everything except gzip and identity', () => {
  const check = (encoding: string) =>
    checkBodyHeaders(
      requestWith({ 'content-type': 'application/json', 'content-encoding': encoding }),
      strict,
    );
  for (const encoding of ['', 'gzip', ' X-Gzip ', 'identity']) {
    expect(() => check(encoding)).not.toThrow();
  }
  for (const encoding of ['br', 'xgzip', 'gzipx', 'gzip, gzip']) {
    expect(() => check(encoding)).toThrow(
      expect.objectContaining({
        code: 'content-encoding-wrong',
        detail: { found: JSON.stringify(encoding) },
      }),
    );
  }
});

test('default: chunks are joined, and their bytes are counted until the caller releases them', async () => {
  const request = requestWith({ 'content-length': '20' });
  const { body, meter } = read(request);
  request.write('0123456789');
  request.end('0123456789');
  expect(Buffer.from((await body) ?? []).toString()).toBe('01234567890123456789');
  expect(meter.bytes).toBe(20);
  expect(request.listenerCount('data')).toBe(0);
});

test.each(['gzip', 'X-GZIP'])(
  'default: a body with the encoding %s is decompressed',
  async (encoding) => {
    const request = requestWith({ 'content-encoding': encoding });
    const { body, meter } = read(request, 100);
    request.end(gzipSync('x'.repeat(100)));
    expect(Buffer.from((await body) ?? []).toString()).toBe('x'.repeat(100));
    expect(meter.bytes).toBe(100);
  },
);

test('limit: body-too-large by its length, its bytes or its decompressed bytes', async () => {
  const stated = requestWith({ 'content-length': '21' });
  await expect(read(stated).body).rejects.toMatchObject({
    code: 'body-too-large',
    detail: { bytesMax: 20 },
  });
  const sent = requestWith();
  const plain = read(sent);
  sent.write('x'.repeat(15));
  sent.write('x'.repeat(6));
  expect(await codeOf(plain.body)).toBe('body-too-large');
  // Nothing is read after the refusal.
  expect([sent.listenerCount('data'), sent.listenerCount('end')]).toEqual([0, 0]);
  expect(plain.meter.bytes).toBe(15);
  const zipped = requestWith(gzip);
  const unpacked = read(zipped, 40);
  zipped.end(gzipSync('x'.repeat(41)));
  expect(await codeOf(unpacked.body)).toBe('body-too-large');
  // More bytes arrive than are allowed, although they decompress to few.
  const padded = requestWith(gzip);
  const wire = read(padded, 20);
  padded.write(gzipSync(Buffer.from('abcdefghijklmnopqrst')));
  expect(await codeOf(wire.body)).toBe('body-too-large');
});

test('limit: queries-full while other queries hold too many bytes', async () => {
  const request = requestWith();
  const { body, meter } = read(request, 20, 10);
  request.write('0123456789');
  await settle();
  expect(meter.bytes).toBe(10);
  request.write('x');
  expect(await codeOf(body)).toBe('queries-full');
  expect(meter.bytes).toBe(10);
});

test('error: body-not-gzip for damaged or incomplete bytes', async () => {
  for (const bytes of [Buffer.from('{}'), gzipSync('text').subarray(0, -4), Buffer.alloc(0)]) {
    const request = requestWith(gzip);
    const { body } = read(request, 100);
    request.end(bytes);
    const error: unknown = await body.catch((fault: unknown) => fault);
    expect(isCodedError(error, 'body-not-gzip') && error.cause).toBeInstanceOf(Error);
  }
});

test('behavior: a client that disconnects within the body gives null', async () => {
  for (const headers of [{}, gzip]) {
    const request = requestWith(headers);
    const { body } = read(request);
    request.destroy();
    expect(await body).toBe(null);
    expect(request.listenerCount('end')).toBe(0);
  }
});
