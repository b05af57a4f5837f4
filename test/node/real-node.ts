import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { NodeRpc } from './node-rpc.ts';
import { waitFor } from './wait-for.ts';

/** Loading a ledger under load takes a while. */
const START_SECONDS_MAX = 120;
/** RPC, WebSocket, faucet, gossip, then those that the node chooses itself. */
const PORT_COUNT = 48;

export interface RealNodeOptions {
  readonly binary: string;
  /** Its ledger: kept over restarts. */
  readonly folder: string;
  /** Beyond those that put it on loopback. */
  readonly args: readonly string[];
}

/** A node as a process of its own, on loopback, at the same ports after a restart. */
export class RealNode {
  readonly rpc: NodeRpc;
  readonly #options: RealNodeOptions;
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(options: RealNodeOptions, port: number) {
    this.#options = options;
    this.#port = port;
    this.rpc = new NodeRpc(`http://127.0.0.1:${port}`);
  }

  /** It has its address, and does not run yet. */
  static async prepare(options: RealNodeOptions): Promise<RealNode> {
    return new RealNode(options, await findPort());
  }

  /** Resolves when it has a confirmed block. */
  async start(): Promise<void> {
    const { binary, folder, args } = this.#options;
    const port = this.#port;
    const child = spawn(
      binary,
      [
        '--quiet',
        ...['--ledger', folder, '--bind-address', '127.0.0.1'],
        ...[
          '--rpc-port',
          `${port}`,
          '--faucet-port',
          `${port + 2}`,
          '--gossip-port',
          `${port + 3}`,
        ],
        ...['--dynamic-port-range', `${port + 4}-${port + PORT_COUNT}`],
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#child = child;
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => {
        text += bytes.toString();
      });
    }
    await waitFor('a confirmed block of the node', START_SECONDS_MAX, async () => {
      if (child.exitCode !== null) throw new Error(`the node ended: ${text}`);
      return (await this.rpc.slot('confirmed')) > 0n ? true : undefined;
    });
  }

  /** As if the machine had lost its power. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'exit');
    child.kill('SIGKILL');
    await closed;
  }
}

/** The first of a run of ports, below those that systems hand out by themselves. */
async function findPort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000 - PORT_COUNT);
    const isFree = await Promise.all([0, 1, 2, 3].map((offset) => isPortFree(port + offset)));
    if (isFree.every(Boolean)) return port;
  }
}

function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
