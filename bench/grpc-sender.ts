/** The worker thread of `sources-benchmark.ts` that is the server: sends messages of one size as fast as the client reads them. */
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { listeningPort } from '@sluice/base/listening-port';
import { createGrpcServer, type ServedCall } from '@sluice/grpc/grpc-server';

export interface Sending {
  readonly messageBytes: number;
  readonly totalBytes: number;
}

const waitingBytesMax = 16 << 20;

async function sendAll(call: ServedCall, { messageBytes, totalBytes }: Sending): Promise<void> {
  const message = new Uint8Array(messageBytes).fill(7);
  for (let sent = 0; sent < totalBytes; sent += messageBytes) {
    while (call.waitingBytes > waitingBytesMax && !call.signal.aborted) await nextTurn();
    call.send(message);
  }
  call.end({ code: 0, message: '' });
}

const { server } = createGrpcServer((call) => {
  call.onMessage = () => void sendAll(call, workerData as Sending);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
parentPort?.postMessage(listeningPort(server));
