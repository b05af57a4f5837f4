import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePorts } from '../../find-free-ports.ts';
import { type Child, findProgram, startChild, waitUntil } from './child.ts';

/** A cluster of NATS servers with JetStream on the loopback interface. */
export interface NatsCluster {
  readonly servers: readonly NatsServer[];
  readonly ports: readonly number[];
  /** The ports of the monitors, which count the traffic of each connection. */
  readonly monitorPorts: readonly number[];
  stop(): Promise<void>;
}

/** The messages and bytes of a client, as its servers count them. */
export interface NatsTraffic {
  readonly sentMessages: number;
  readonly sentBytes: number;
  readonly receivedMessages: number;
  readonly receivedBytes: number;
}

export interface NatsServer {
  readonly port: number;
  child: Child;
  /** Restarts a server after it was killed. */
  restart(): void;
}

/** Starts servers and waits until they have elected a leader. */
export async function startNats(folder: string, count: number): Promise<NatsCluster> {
  const program = findProgram('nats-server', 'NATS_SERVER') ?? 'nats-server';
  const ports = await findFreePorts(count * 3);
  const routes = ports.slice(count, 2 * count).map((port) => `nats://127.0.0.1:${port}`);
  const servers = Array.from({ length: count }, (_, i): NatsServer => {
    const serverFolder = join(folder, `nats-${i}`);
    mkdirSync(serverFolder, { recursive: true });
    const file = join(serverFolder, 'nats.conf');
    const cluster = `cluster { name: test, listen: "127.0.0.1:${ports[count + i]}", no_advertise: true, routes: [${routes.join(', ')}] }`;
    writeFileSync(
      file,
      `server_name: n${i}\nlisten: "127.0.0.1:${ports[i]}"\nhttp: "127.0.0.1:${ports[2 * count + i]}"\njetstream { store_dir: "${serverFolder}/js", max_file: 10GB }\n${count > 1 ? cluster : ''}\n`,
    );
    const start = () => startChild(program, ['-c', file]);
    const server: NatsServer = {
      port: ports[i] as number,
      child: start(),
      restart: () => {
        server.child = start();
      },
    };
    return server;
  });
  await untilHealthy(ports.slice(2 * count));
  return {
    servers,
    ports: ports.slice(0, count),
    monitorPorts: ports.slice(2 * count),
    stop: async () => {
      await Promise.all(servers.map(({ child }) => child.stop('SIGKILL')));
    },
  };
}

/** Returns the traffic of the connections from these ports since they were opened. */
export async function readTraffic(
  { monitorPorts }: NatsCluster,
  clientPorts: readonly number[],
): Promise<NatsTraffic> {
  const total = { sentMessages: 0, sentBytes: 0, receivedMessages: 0, receivedBytes: 0 };
  for (const monitorPort of monitorPorts) {
    const response = await fetch(`http://127.0.0.1:${monitorPort}/connz`);
    const { connections } = (await response.json()) as {
      connections: { port: number; [counter: string]: number }[];
    };
    for (const one of connections.filter(({ port }) => clientPorts.includes(port))) {
      total.sentMessages += one['in_msgs'] ?? 0;
      total.sentBytes += one['in_bytes'] ?? 0;
      total.receivedMessages += one['out_msgs'] ?? 0;
      total.receivedBytes += one['out_bytes'] ?? 0;
    }
  }
  return total;
}

/** Waits until the servers have elected a leader. The ports are those of their monitors. */
export async function untilHealthy(monitorPorts: readonly number[]): Promise<void> {
  await waitUntil('NATS elects a leader', async () => {
    const states = await Promise.all(
      monitorPorts.map(async (port) => {
        const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
        return response?.status === 200;
      }),
    );
    return states.every((isHealthy) => isHealthy);
  });
}
