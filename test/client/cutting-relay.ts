import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy whose address stays the same while the service restarts. It breaks connections after a random number of bytes. */
export interface CuttingRelay {
  readonly url: string;
  /** The port of the service. */
  target: number;
  /** Returns the number of bytes of a response after which the connection breaks; Infinity for never. */
  drawBytes: () => number;
  readonly cutCount: number;
  close(): void;
}

export async function startCuttingRelay(): Promise<CuttingRelay> {
  const sockets = new Set<Socket>();
  const state = { target: 0, drawBytes: () => Number.POSITIVE_INFINITY, cutCount: 0 };
  const server = createServer((socket) => {
    const behind = connect(state.target, '127.0.0.1');
    let left = state.drawBytes();
    sockets.add(socket);
    const end = () => {
      sockets.delete(socket);
      socket.destroy();
      behind.destroy();
    };
    socket.on('data', (bytes) => behind.write(bytes));
    behind.on('data', (bytes: Buffer) => {
      left -= bytes.length;
      if (left < 0) {
        state.cutCount++;
        socket.write(bytes.subarray(0, bytes.length + left), end);
      } else if (!socket.write(bytes)) {
        behind.pause();
        socket.once('drain', () => behind.resume());
      }
    });
    for (const stream of [socket, behind]) stream.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  });
}
