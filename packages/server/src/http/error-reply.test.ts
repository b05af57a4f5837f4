import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { buildErrorReply } from './error-reply.ts';

test('default: a coded error has its status, its message, its path and the request id', () => {
  const error = new CodedError('parameter-invalid', { path: 'slöt', allowed: 'a number' });
  const { status, code, headers, body } = buildErrorReply(error, 'r1');
  expect([status, code]).toEqual([400, 'parameter-invalid']);
  expect(JSON.parse(body)).toEqual({
    error: { code, message: error.message, path: 'slöt', requestId: 'r1' },
  });
  expect(headers).toEqual({
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
});

test.each([
  [new CodedError('key-wrong'), 401, { 'www-authenticate': 'Bearer' }],
  [new CodedError('method-wrong', { method: 'PUT', allowed: 'GET' }), 405, { allow: 'GET' }],
  [new CodedError('method-wrong'), 405, {}],
  [new CodedError('body-too-large', { bytesMax: 5 }), 413, { connection: 'close' }],
  [new CodedError('lookups-full'), 503, { 'retry-after': '1' }],
  [new CodedError('path-unknown'), 404, {}],
])('behavior: %s has the headers of its status', (error, status, expected) => {
  const reply = buildErrorReply(error, 'r1');
  expect(reply.status).toBe(status);
  const { 'content-type': _1, 'content-length': _2, ...rest } = reply.headers;
  const { 'cache-control': _3, 'x-content-type-options': _4, ...added } = rest;
  expect(added).toStrictEqual(expected);
});

test('error: internal-error without details for everything that has no status', () => {
  for (const error of [new TypeError('/secret'), 'text', new CodedError('engine-cancelled')]) {
    const { status, code, body } = buildErrorReply(error, 'r9');
    expect([status, code]).toEqual([500, 'internal-error']);
    expect(JSON.parse(body)).toEqual({
      error: {
        code,
        message: expect.stringMatching(/^internal error; /),
        requestId: 'r9',
      },
    });
  }
});
