import { createServer, type Socket } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import type { Database } from './database.ts';

const sslRequestCode = 80877103;

/** PostgreSQL as WebAssembly in this process, behind a socket with the protocol of PostgreSQL, for one connection at a time. */
export async function startPglite(): Promise<Database> {
  const db = await PGlite.create();
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer((socket) => {
    // A new client waits until the previous one has disconnected and its open transaction was rolled back.
    last = last
      .then(() => serve(db, socket))
      .catch(() => undefined)
      .then(() => db.exec('rollback').catch(() => undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    name: 'PGlite',
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    query: async (text) => (await db.query(text)).rows as Record<string, unknown>[],
    close: async () => {
      server.close();
      await db.close();
    },
  };
}

/** Forwards messages one after the other until the connection ends. */
async function serve(db: PGlite, socket: Socket): Promise<void> {
  let bytes = Buffer.alloc(0);
  let isStarted = false;
  socket.on('error', () => undefined);
  for await (const piece of socket) {
    bytes = Buffer.concat([bytes, piece as Buffer]);
    for (;;) {
      // The start-up message has no type byte.
      const prefix = isStarted ? 1 : 0;
      if (bytes.length < prefix + 4) break;
      const length = prefix + bytes.readInt32BE(prefix);
      if (bytes.length < length) break;
      const message = bytes.subarray(0, length);
      bytes = bytes.subarray(length);
      if (!isStarted && message.readInt32BE(4) === sslRequestCode) {
        socket.write('N');
        continue;
      }
      isStarted = true;
      socket.write(await db.execProtocolRaw(message));
    }
  }
}
