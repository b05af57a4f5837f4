import { Duplex } from 'node:stream';
import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { settle } from '../stream/testing/manual-clock.ts';
import { refuseOnSocket, respondToClientError } from './client-error.ts';

/** A socket that keeps what is written to it. */
class TestSocket extends Duplex {
  text = '';
  _httpMessage?: { headersSent: boolean };

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.text += chunk.toString();
    done();
  }
}

function errorWith(code?: string): NodeJS.ErrnoException {
  return Object.assign(new SyntaxError('broken'), code === undefined ? {} : { code });
}

test.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408, 'Request Timeout', 'request-too-slow'],
  ['HPE_HEADER_OVERFLOW', 431, 'Request Header Fields Too Large', 'headers-too-large'],
  ['HPE_INVALID_METHOD', 400, 'Bad Request', 'request-malformed'],
  [undefined, 400, 'Bad Request', 'request-malformed'],
])('error: %s gets %i %s with the code %s', async (found, status, reason, code) => {
  const socket = new TestSocket();
  expect(respondToClientError(errorWith(found), socket, 'r7')).toBe(status);
  await settle();
  expect(socket.destroyed).toBe(true);
  const [head = '', body = ''] = socket.text.split('\r\n\r\n');
  const [first, ...lines] = head.split('\r\n');
  expect(first).toBe(`HTTP/1.1 ${status} ${reason}`);
  expect(lines).toContain('connection: close');
  expect(lines).toContain('x-request-id: r7');
  expect(lines).toContain(`content-length: ${body.length}`);
  expect(JSON.parse(body)).toMatchObject({ error: { code, requestId: 'r7' } });
});

test('behavior: a status without a reason phrase gets a general one', async () => {
  const socket = new TestSocket();
  expect(refuseOnSocket(new CodedError('service-closing'), socket, 'r1')).toBe(503);
  await settle();
  expect(socket.text).toMatch(/^HTTP\/1\.1 503 Error\r\n/);
  const other = new TestSocket();
  refuseOnSocket(new CodedError('method-wrong', { method: 'X', allowed: 'GET' }), other, 'r1');
  await settle();
  expect(other.text).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n.*\r\nallow: GET\r\n/s);
});

test('behavior: a response that has begun is not followed by another one', () => {
  const socket = new TestSocket();
  socket._httpMessage = { headersSent: true };
  expect(respondToClientError(errorWith(), socket, 'r1')).toBe(null);
  expect([socket.destroyed, socket.text]).toEqual([true, '']);
  const waiting = new TestSocket();
  waiting._httpMessage = { headersSent: false };
  expect(respondToClientError(errorWith(), waiting, 'r1')).toBe(400);
});

test('behavior: a reset or closed connection gets no response', () => {
  const reset = new TestSocket();
  expect(respondToClientError(errorWith('ECONNRESET'), reset, 'r1')).toBe(null);
  expect([reset.destroyed, reset.text]).toEqual([true, '']);
  const ended = new TestSocket();
  ended.end();
  expect(respondToClientError(errorWith(), ended, 'r1')).toBe(null);
  expect([ended.destroyed, ended.text]).toEqual([true, '']);
});

test('behavior: an error of the socket during the response destroys it', async () => {
  const socket = new TestSocket({ autoDestroy: false });
  socket._write = (_chunk, _encoding, done) => done(new Error('broken pipe'));
  refuseOnSocket(new CodedError('request-malformed'), socket, 'r1');
  await settle();
  expect(socket.destroyed).toBe(true);
});
