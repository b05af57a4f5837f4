import { createServer } from 'node:net';

/**
 * Ports below those that the system gives to outgoing connections. A test starts a process on a port some time after
 * choosing it, and may start it there again, so the system must not give the port away meanwhile.
 */
const [firstPort, portCount] = [20_000, 12_000];
/** Test processes run at the same time and have different ids, so each begins at a different port. */
const portsPerProcess = 40;

let nextIndex = (process.pid * portsPerProcess) % portCount;

/** Returns consecutive free ports of the loopback interface that this process has not returned before. */
export async function findFreePorts(count: number): Promise<number[]> {
  for (;;) {
    if (nextIndex + count > portCount) nextIndex = 0;
    const ports = Array.from({ length: count }, (_, i) => firstPort + nextIndex + i);
    nextIndex += count;
    const isFree = await Promise.all(ports.map(isPortFree));
    if (isFree.every(Boolean)) return ports;
  }
}

function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
