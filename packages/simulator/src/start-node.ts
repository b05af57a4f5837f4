import { createServer, type Server } from 'node:http';
import type { Http2Server } from 'node:http2';
import { CodedError } from '@sluice/base/errors';
import { listeningPort } from '@sluice/base/listening-port';
import type { GrpcServer } from '@sluice/grpc/grpc-server';
import { WebSocketServer } from 'ws';
import { Faults } from './faults/faults.ts';
import { createControlServer } from './node/control-server.ts';
import { GrpcNode } from './node/grpc-node.ts';
import { NODE_LIMITS, type NodeLimits } from './node/limits.ts';
import { createNodeServer } from './node/node-server.ts';
import { type NodeState, NodeView } from './node/node-view.ts';
import { notifyChanges, type ProcessedSlot } from './node/notifier.ts';
import { RenderedBlocks } from './node/rendered-blocks.ts';
import { Subscriptions } from './node/subscriptions.ts';
import type { SimulatedLedger } from './simulated-ledger.ts';

export interface NodeOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Ports; 0, the default, takes any free one. */
  readonly port?: number;
  readonly wsPort?: number;
  readonly controlPort?: number;
  readonly grpcPort?: number;
  /** The `x-token` that gRPC clients must send; none by default. */
  readonly grpcToken?: string;
  /** How many slots this node is behind the ledger. */
  readonly lagSlots?: number;
  readonly limits?: Partial<NodeLimits>;
}

export interface SimulatedNode {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly controlUrl: string;
  readonly grpcUrl: string;
  readonly ledger: SimulatedLedger;
  readonly faults: Faults;
  /** Returns the current state of the node. */
  state(): NodeState;
  close(): Promise<void>;
}

/** The share of a slot after which the next block is prepared. Most blocks are confirmed before it. */
const prepareAfterShare = 0.5;

/** Starts one node that serves the ledger. Several nodes can serve the same ledger, each with its own lag and faults. */
export async function startNode(
  options: NodeOptions,
  dependencies: { ledger: SimulatedLedger },
): Promise<SimulatedNode> {
  const { ledger } = dependencies;
  const { chain, time, clock } = ledger;
  const limits = { ...NODE_LIMITS, ...options.limits };
  const { slotMs } = chain.options;
  const faults = new Faults({ random: chain.random, nowMs: () => time.nowMs() });
  const view = new NodeView({ lagSlots: options.lagSlots ?? 0 }, { chain, time, faults });
  const blocks = new RenderedBlocks({ bytesMax: limits.renderedBytesMax }, ledger);
  const rpc = { chain, view, faults, blocks };
  const subscriptions = new Subscriptions({ limits }, rpc);
  const grpcNode = new GrpcNode({ token: options.grpcToken }, { ...rpc, clock, limits });
  const servers = {
    rpc: createNodeServer({ ...rpc, clock, limits }),
    ws: createSocketOnlyServer(),
    control: createControlServer({ faults, time, view, slotMs }),
  };
  acceptSockets([servers.rpc, servers.ws], subscriptions, limits);
  const urls = await listenAll(servers, grpcNode.grpc, options);
  const stop = new AbortController();
  const onProcessed = (slots: readonly ProcessedSlot[], state: NodeState) => {
    subscriptions.publish(slots);
    grpcNode.publish(state);
    processedSlot = slots.at(-1)?.slot ?? processedSlot;
    if (slots.length > 0) void prepareNext();
  };
  let processedSlot = -1;
  let isPreparing = false;
  // Rendering a large block takes long. It must not delay the responses about the block that was just processed or confirmed.
  const prepareNext = async () => {
    if (isPreparing) return;
    isPreparing = true;
    await clock.sleep((slotMs * prepareAfterShare) / time.speed, stop.signal);
    isPreparing = false;
    const next = chain.blockAt(chain.nextBlock(processedSlot + 1));
    if (stop.signal.aborted || next === undefined) return;
    blocks.prepare(next);
    grpcNode.prepare(next);
  };
  const notified = { view, time, faults, onProcessed };
  const running = notifyChanges({ slotMs }, notified, stop.signal);
  faults.onChange(() => {
    subscriptions.closeByFault();
    grpcNode.endByFault();
  });
  return {
    ...urls,
    ledger,
    faults,
    state: () => view.stateAt(),
    close: async () => {
      stop.abort();
      subscriptions.terminate();
      await Promise.all([running, grpcNode.stop(), ...Object.values(servers).map(stopServer)]);
    },
  };
}

function createSocketOnlyServer(): Server {
  return createServer((_request, response) => {
    response.writeHead(426, { 'Content-Type': 'text/plain', Upgrade: 'websocket' });
    response.end('this port only supports WebSocket\n');
  });
}

function acceptSockets(
  servers: readonly Server[],
  subscriptions: Subscriptions,
  limits: NodeLimits,
): void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: limits.bodyBytesMax });
  for (const server of servers) {
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      sockets.handleUpgrade(request, socket, head, (webSocket) => subscriptions.add(webSocket));
    });
  }
}

async function listenAll(
  servers: { rpc: Server; ws: Server; control: Server },
  grpc: GrpcServer,
  options: NodeOptions,
): Promise<Pick<SimulatedNode, 'rpcUrl' | 'wsUrl' | 'controlUrl' | 'grpcUrl'>> {
  const host = options.host ?? '127.0.0.1';
  const name = host.includes(':') ? `[${host}]` : host;
  try {
    const port = await listen(servers.rpc, host, options.port);
    const wsPort = await listen(servers.ws, host, options.wsPort);
    const controlPort = await listen(servers.control, host, options.controlPort);
    const grpcPort = await listen(grpc.server, host, options.grpcPort);
    return {
      rpcUrl: `http://${name}:${port}`,
      wsUrl: `ws://${name}:${wsPort}`,
      controlUrl: `http://${name}:${controlPort}`,
      grpcUrl: `http://${name}:${grpcPort}`,
    };
  } catch (error) {
    // If one port cannot be bound, all servers are stopped.
    await Promise.all([grpc.stop(), ...Object.values(servers).map(stopServer)]);
    throw error;
  }
}

/** Binds a server to a port, or with port 0 to any free one, and returns the port. */
function listen(server: Server | Http2Server, host: string, port = 0): Promise<number> {
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
function stopServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
