/**
 * The goal is 50 MB/s on loopback. A test that measures seconds would depend on the other work of the machine, so this one compares processor
 * time with that of a plain HTTP/2 stream with the same bytes in the same process. A plain stream carries 400 MB or more for each second of
 * processor time, of which an eighth is 50 MB. Usually it is a quarter to a half.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { listeningPort } from '@sluice/base/listening-port';
import { expect, onTestFinished, test } from 'vitest';
import { encodeFrame } from './frame-reader.ts';
import { GrpcChannel } from './grpc-channel.ts';
import { createGrpcServer } from './grpc-server.ts';

interface Sending {
  readonly messageBytes: number;
  readonly count: number;
}

const waitingBytesMax = 4 << 20;
const roundCount = 5;
const shareMin = 1 / 8;

/** Receives all messages over gRPC. Returns the number of their bytes. */
async function receiveMessages({ messageBytes, count }: Sending): Promise<number> {
  const message = new Uint8Array(messageBytes).fill(7);
  const { server, stop } = createGrpcServer((call) => {
    call.onMessage = async () => {
      for (let i = 0; i < count; i++) {
        while (call.waitingBytes > waitingBytesMax) await nextTurn();
        call.send(message);
      }
      call.end({ code: 0, message: '' });
    };
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const channel = new GrpcChannel(`http://127.0.0.1:${listeningPort(server)}`);
  let received = 0;
  const call = channel.open({
    path: '/geyser.Geyser/Subscribe',
    metadata: {},
    messageBytesMax: messageBytes,
    onMessage: ({ length }) => {
      received += length;
    },
  });
  call.send(new Uint8Array());
  const { code } = await call.ended;
  expect(code).toBe(0);
  channel.close();
  await stop();
  return received;
}

/** Receives the same bytes as the chunks of a plain stream. Returns their number. */
async function receiveStream({ messageBytes, count }: Sending): Promise<number> {
  const chunk = encodeFrame(new Uint8Array(messageBytes).fill(7));
  const server = createServer();
  server.on('stream', async (stream) => {
    stream.respond({ ':status': 200 });
    for (let i = 0; i < count; i++) {
      while (stream.writableLength > waitingBytesMax) await nextTurn();
      stream.write(chunk);
    }
    stream.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${listeningPort(server)}`);
  onTestFinished(() => session.destroy());
  let received = 0;
  const stream = session.request({ ':path': '/' });
  stream.on('data', ({ length }: Buffer) => {
    received += length;
  });
  await once(stream, 'end');
  session.destroy();
  await new Promise((resolve) => server.close(resolve));
  return received;
}

/** Returns the processor time of all threads in milliseconds. */
async function measure(receive: (sending: Sending) => Promise<number>, sending: Sending) {
  const start = process.cpuUsage();
  expect(await receive(sending)).toBeGreaterThanOrEqual(sending.messageBytes * sending.count);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

test.each([
  { messageBytes: 1_200_000, count: 50 },
  { messageBytes: 800, count: 40_000 },
])(
  'limit: messages of $messageBytes bytes cost at most eight times the processor time of a plain stream',
  async (sending) => {
    const times: { grpc: number; plain: number }[] = [];
    for (let round = 0; round < roundCount; round++) {
      const plain = await measure(receiveStream, sending);
      times.push({ plain, grpc: await measure(receiveMessages, sending) });
    }
    // The least of several rounds in turns, because other work on the machine only adds time.
    const least = (of: 'plain' | 'grpc') => Math.min(...times.map((round) => round[of]));
    const share = least('plain') / least('grpc');
    expect(share, `milliseconds: ${JSON.stringify(times)}`).toBeGreaterThan(shareMin);
  },
);
