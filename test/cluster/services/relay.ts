import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP relay that can cut a process off from a server. */
export interface Relay {
  readonly port: number;
  isCut: boolean;
  cut(): void;
  heal(): void;
  close(): void;
}

/** Connections go to the port that `target` returns at that moment. */
export async function startRelay(target: () => number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (relay.isCut) return void socket.destroy();
    const behind = connect(target(), '127.0.0.1');
    behind.on('error', () => socket.destroy());
    for (const one of [socket, behind]) {
      sockets.add(one);
      one.on('close', () => {
        sockets.delete(one);
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
