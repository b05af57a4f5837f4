import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP relay that can disconnect a process from a server. */
export interface Relay {
  readonly port: number;
  /** The local ports of the connections to the server. */
  readonly clientPorts: readonly number[];
  isCut: boolean;
  cut(): void;
  heal(): void;
  close(): void;
}

/** New connections go to the port that `target` returns. */
export async function startRelay(target: () => number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const behinds = new Set<Socket>();
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (relay.isCut) return void socket.destroy();
    const behind = connect(target(), '127.0.0.1');
    behinds.add(behind);
    behind.on('close', () => behinds.delete(behind));
    behind.on('error', () => socket.destroy());
    for (const stream of [socket, behind]) {
      sockets.add(stream);
      stream.on('close', () => {
        sockets.delete(stream);
        socket.destroy();
        behind.destroy();
      });
    }
    socket.pipe(behind).pipe(socket);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dropAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const relay: Relay = {
    port: (server.address() as AddressInfo).port,
    get clientPorts() {
      return [...behinds].map(({ localPort = 0 }) => localPort);
    },
    isCut: false,
    cut: () => {
      relay.isCut = true;
      dropAll();
    },
    heal: () => {
      relay.isCut = false;
    },
    close: () => {
      server.close();
      dropAll();
    },
  };
  return relay;
}
