import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { findFreePorts } from '../find-free-ports.ts';
import { NodeRpc } from './node-rpc.ts';
import { waitFor } from './wait-for.ts';

/** Loading a ledger takes long on a busy machine. */
const START_SECONDS_MAX = 120;
/** Ports for RPC, WebSocket, faucet and gossip, then a range for the node. */
const PORT_COUNT = 49;

export interface RealNodeOptions {
  readonly binary: string;
  /** The ledger folder, which is kept across restarts. */
  readonly folder: string;
  /** Additional arguments. */
  readonly args: readonly string[];
}

/** A node process on loopback that keeps its ports across restarts. */
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

  /** Creates a node with its addresses, without starting it. */
  static async prepare(options: RealNodeOptions): Promise<RealNode> {
    const [port] = await findFreePorts(PORT_COUNT);
    assert(port !== undefined);
    return new RealNode(options, port);
  }

  /** Starts the node and resolves when it has a confirmed block. */
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
        ...['--dynamic-port-range', `${port + 4}-${port + PORT_COUNT - 1}`],
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
      if (child.exitCode !== null) throw new Error(`the node exited: ${text}`);
      return (await this.rpc.slot('confirmed')) > 0n ? true : undefined;
    });
  }

  /** Kills the node, as a power loss would. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'exit');
    child.kill('SIGKILL');
    await closed;
  }
}
