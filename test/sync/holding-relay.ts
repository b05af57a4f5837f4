import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of NATS that passes on a number of messages of a subject and holds back everything after them. */
export interface HoldingRelay {
  readonly port: number;
  /** Resolves when the first message is held back. */
  readonly held: Promise<void>;
  close(): void;
}

export async function startHoldingRelay(
  target: number,
  options: { readonly subject: string; readonly messageCount: number },
): Promise<HoldingRelay> {
  const sockets = new Set<Socket>();
  const pattern = Buffer.from(`HPUB ${options.subject} `);
  let left = options.messageCount;
  let hold = () => {};
  const held = new Promise<void>((resolve) => {
    hold = resolve;
  });
  const server = createServer((socket) => {
    const behind = connect(target, '127.0.0.1');
    for (const stream of [socket, behind]) {
      sockets.add(stream);
      stream.on('error', () => stream.destroy()).on('close', () => sockets.delete(stream));
    }
    behind.pipe(socket);
    socket.on('close', () => behind.destroy());
    socket.on('data', (bytes: Buffer) => {
      // A message is published after the acknowledgement of the one before, so it starts with the bytes of a write.
      for (let at = bytes.indexOf(pattern); at >= 0; at = bytes.indexOf(pattern, at + 1))
        if (left-- === 0) hold();
      if (left >= 0) behind.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    held,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
