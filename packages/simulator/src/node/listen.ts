import type { Server } from 'node:http';
import type { Http2Server } from 'node:http2';
import { CodedError } from '@sluice/base/errors';
import { listeningPort } from '@sluice/base/listening-port';

/** Binds a server to a port, or with port 0 to any free one, and returns the port. */
export function listen(server: Server | Http2Server, host: string, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      const detail = { host, port, reason: error.code ?? error.message };
      reject(new CodedError('listen-failed', detail, { cause: error }));
    };
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve(listeningPort(server));
    });
  });
}

/** Stops a server and closes its connections. */
export function stopServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
