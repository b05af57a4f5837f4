import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ManualClock, settle } from '../../stream/testing/manual-clock.ts';
import { ResponseWriter, waitForTurn } from './response-writer.ts';
import { StallWatch } from './stall-watch.ts';

/** A socket that keeps what is written to it, and that a test fills and drains. */
class TestSocket extends EventEmitter {
  readonly writes: string[] = [];
  readonly sent: (() => void)[] = [];
  calls: string[] = [];
  destroyed = false;
  writableNeedDrain = false;
  writableLength = 0;
  _handle: { writeQueueSize?: number } | null = null;

  write(bytes: Uint8Array, onSent?: () => void): boolean {
    this.writes.push(Buffer.from(bytes).toString());
    if (onSent !== undefined) this.sent.push(onSent);
    return true;
  }

  cork(): void {
    this.calls.push('cork');
  }

  uncork(): void {
    this.calls.push('uncork');
  }

  resetAndDestroy(): void {
    this.destroyed = true;
    this.calls.push('reset');
  }

  /** Makes the next writes wait. */
  fill(): void {
    this.writableNeedDrain = true;
    this.writableLength = 5;
  }

  drain(): void {
    this.writableNeedDrain = false;
    this.writableLength = 0;
    this.emit('drain');
  }
}

class TestResponse extends EventEmitter {
  socket: TestSocket | null = new TestSocket();
  destroyed = false;
  chunkedEncoding = true;
  writableFinished = false;
  ended: string | undefined;

  end(bytes: Uint8Array): void {
    this.ended = Buffer.from(bytes).toString();
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function start(changes: Partial<TestResponse> = {}) {
  const response = Object.assign(new TestResponse(), changes);
  const clock = new ManualClock();
  const watch = new StallWatch({ stallMsMax: 1_000, stallCheckMs: 100 }, clock);
  const writer = new ResponseWriter(response as unknown as ServerResponse, watch);
  return { response, socket: response.socket as TestSocket, writer, clock };
}

const bytes = (text: string) => Buffer.from(text);

test('default: one part is one write with its frame, which other responses share', () => {
  const { writer, socket } = start();
  const part = bytes('0123456789abcdef');
  expect(writer.write([part])).toBe('written');
  expect(socket.writes).toEqual(['10\r\n0123456789abcdef\r\n']);
  const other = start();
  void other.writer.write([part]);
  expect(other.socket.writes).toEqual(socket.writes);
  expect(other.socket.calls).toEqual([]);
});

test('behavior: several parts and large parts are one chunk, written together', () => {
  const { writer, socket } = start();
  void writer.write([bytes('ab'), bytes('cde')]);
  expect(socket.writes.splice(0)).toEqual(['5\r\n', 'ab', 'cde', '\r\n']);
  expect(socket.calls.splice(0)).toEqual(['cork', 'uncork']);
  void writer.write([Buffer.alloc(65_536, 'x')]);
  expect(socket.writes.splice(0)).toHaveLength(1);
  void writer.write([Buffer.alloc(65_537, 'x')]);
  expect(socket.writes.map((text) => text.length)).toEqual([7, 65_537, 2]);
});

test('behavior: without chunked encoding the parts are sent as they are', () => {
  const { writer, socket } = start({ chunkedEncoding: false });
  void writer.write([bytes('ab'), bytes('c')]);
  expect(socket.writes).toEqual(['ab', 'c']);
  expect(socket.calls).toEqual(['cork', 'uncork']);
});

test.each([true, false])(
  'behavior: memory is released once, when everything was sent (chunked: %s)',
  (chunkedEncoding) => {
    const { writer, socket } = start({ chunkedEncoding });
    let count = 0;
    const onSent = () => count++;
    void writer.write([bytes('one')], onSent);
    void writer.write([bytes('ab'), bytes('c')], onSent);
    expect([count, socket.sent.length]).toEqual([0, 2]);
    for (const sent of socket.sent) sent();
    expect(count).toBe(2);
    // Nothing is written for an empty piece, because an empty chunk ends the response.
    const before = socket.writes.length;
    expect(writer.write([], onSent)).toBe('written');
    expect([count, socket.writes.length]).toEqual([3, before]);
  },
);

test('behavior: a write waits until the client has read', async () => {
  const { writer, socket, clock } = start();
  socket.fill();
  const outcome = writer.write([bytes('x')]);
  expect(outcome).toBeInstanceOf(Promise);
  expect(clock.sleeperCount).toBe(1);
  // A wake without progress does not end the wait.
  socket.emit('drain');
  await settle();
  socket.drain();
  expect(await outcome).toBe('written');
  await clock.advance(100);
  expect(clock.sleeperCount).toBe(0);
});

test('behavior: bytes that the operating system has accepted do not wait', () => {
  const { writer, socket } = start();
  socket.fill();
  socket._handle = { writeQueueSize: 0 };
  expect(writer.write([bytes('x')])).toBe('written');
  expect(writer.unsent()).toBe(0);
  socket._handle = {};
  expect(writer.unsent()).toBe(5);
  socket._handle = null;
  expect(writer.unsent()).toBe(5);
  socket._handle = { writeQueueSize: 3 };
  expect(writer.unsent()).toBe(3);
});

test('behavior: a client that disconnects ends the wait', async () => {
  const { writer, response, socket } = start();
  socket.fill();
  const outcome = writer.write([bytes('x')]);
  response.socket = null;
  response.destroy();
  expect(await outcome).toBe('gone');
  expect(writer.unsent()).toBe(0);
});

test.each<[string, Partial<TestResponse>]>([
  ['the response was destroyed', { destroyed: true }],
  ['the response has no socket', { socket: null }],
  ['the socket was destroyed', { socket: Object.assign(new TestSocket(), { destroyed: true }) }],
])('behavior: nothing is written if %s', async (_, changes) => {
  const { writer, response } = start(changes);
  let isReleased = false;
  const onSent = () => {
    isReleased = true;
  };
  expect(writer.write([bytes('x')], onSent)).toBe('gone');
  expect(isReleased).toBe(true);
  expect(writer.write([bytes('x')])).toBe('gone');
  expect(await writer.end(bytes('x'))).toBe('gone');
  expect([response.ended, response.socket?.writes ?? []]).toEqual([undefined, []]);
});

test('limit: a client that reads nothing is disconnected with a reset', async () => {
  const { writer, response, socket, clock } = start();
  socket.fill();
  const outcome = writer.write([bytes('x')]);
  await clock.advance(1_000);
  expect(await outcome).toBe('stalled');
  expect([response.destroyed, socket.calls]).toEqual([true, ['reset']]);
});

test('behavior: the end waits until the response is finished', async () => {
  const { writer, response, socket } = start();
  let outcome: string | undefined;
  const ended = writer.end(bytes('tail')).then((one) => {
    outcome = one;
  });
  expect(response.ended).toBe('tail');
  // The next response on the connection uses the event for itself.
  expect(socket.listenerCount('drain')).toBe(0);
  await settle();
  expect(outcome).toBe(undefined);
  response.writableFinished = true;
  response.emit('finish');
  await ended;
  expect(outcome).toBe('written');
});

test('behavior: a response waits until it owns the socket, or the connection closes', async () => {
  for (const event of ['socket', 'close'] as const) {
    const response = new EventEmitter() as ServerResponse;
    Object.assign(response, { socket: null });
    const connection = new EventEmitter() as Socket;
    let isOver = false;
    const turn = waitForTurn(response, connection).then(() => {
      isOver = true;
    });
    await settle();
    expect(isOver).toBe(false);
    (event === 'socket' ? response : connection).emit(event);
    await turn;
    expect([response.listenerCount('socket'), connection.listenerCount('close')]).toEqual([0, 0]);
  }
});

test('behavior: there is no wait if the response owns its socket or the connection is closed', async () => {
  const socket = new EventEmitter() as Socket;
  const owned = Object.assign(new EventEmitter(), { socket }) as unknown as ServerResponse;
  await waitForTurn(owned, socket);
  const waiting = Object.assign(new EventEmitter(), { socket: null }) as unknown as ServerResponse;
  await waitForTurn(waiting, Object.assign(new EventEmitter(), { destroyed: true }) as Socket);
  expect(socket.listenerCount('close') + waiting.listenerCount('socket')).toBe(0);
});

test('behavior: events of the connection while nothing waits change nothing', () => {
  const { writer, response, socket } = start();
  socket.emit('drain');
  response.emit('close');
  writer.giveUp();
  expect([response.destroyed, socket.calls]).toEqual([true, ['reset']]);
});
