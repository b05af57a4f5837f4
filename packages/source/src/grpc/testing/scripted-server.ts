/** A gRPC server over real HTTP/2 that sends exactly what a test tells it to. */
import { once } from 'node:events';
import { encodeBase58 } from '@sluice/base/base58';
import { listeningPort } from '@sluice/base/listening-port';
import { createGrpcServer, type GrpcServer, type ServedCall } from '@sluice/grpc/grpc-server';
import type { GrpcStatus } from '@sluice/grpc/grpc-status';
import { readSubscribeRequest, type SubscribeRequest } from '@sluice/grpc/subscribe-request';
import {
  type BlockMeta,
  encodeSubscribeUpdate,
  type SlotStatus,
  type SubscribeUpdate,
  type TransactionPart,
} from '@sluice/grpc/subscribe-update';

/** A subscription that a client has opened. */
export class ScriptedStream {
  readonly request: SubscribeRequest;
  readonly call: ServedCall;
  readonly #pings: (() => void)[] = [];
  #pingCount = 0;

  constructor(call: ServedCall, request: SubscribeRequest) {
    this.call = call;
    this.request = request;
    call.onMessage = (message) => {
      if (readSubscribeRequest(message).pingId === undefined) return;
      this.#pingCount++;
      for (const wake of this.#pings.splice(0)) wake();
    };
  }

  send(...updates: readonly SubscribeUpdate[]): void {
    for (const update of updates) this.call.send(encodeSubscribeUpdate(update));
  }

  end(status: GrpcStatus): void {
    this.call.end(status);
  }

  /** Sends a ping and waits for the answer, after which the client has read everything before it. */
  async flush(): Promise<void> {
    const before = this.#pingCount;
    this.send({ kind: 'ping' });
    while (this.#pingCount === before) {
      await new Promise<void>((resolve) => this.#pings.push(resolve));
    }
  }
}

export class ScriptedServer {
  readonly #grpc: GrpcServer;
  readonly #streams: ScriptedStream[] = [];
  readonly #waiters: (() => void)[] = [];

  private constructor() {
    this.#grpc = createGrpcServer((call) => {
      call.onMessage = (message) => {
        this.#streams.push(new ScriptedStream(call, readSubscribeRequest(message)));
        for (const wake of this.#waiters.splice(0)) wake();
      };
    });
  }

  static async start(): Promise<ScriptedServer> {
    const server = new ScriptedServer();
    server.#grpc.server.listen(0, '127.0.0.1');
    await once(server.#grpc.server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${listeningPort(this.#grpc.server)}`;
  }

  /** Returns the next subscription. */
  async next(): Promise<ScriptedStream> {
    for (;;) {
      const stream = this.#streams.shift();
      if (stream !== undefined) return stream;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  stop(): Promise<void> {
    return this.#grpc.stop();
  }
}

/** Returns the hash of a made-up block. */
export function hashOf(slot: number, branch = 0): string {
  const bytes = new Uint8Array(32).fill(7);
  bytes.set([branch + 1, slot >> 16, (slot >> 8) & 255, slot & 255]);
  return encodeBase58(bytes);
}

export interface MadeBlock {
  readonly parent?: number;
  readonly branch?: number;
  readonly parentBranch?: number;
  readonly transactionCount?: number;
}

export function metaOf(slot: number, block: MadeBlock = {}): BlockMeta {
  const { parent = slot - 1, branch = 0, parentBranch = branch, transactionCount = 2 } = block;
  return {
    slot,
    blockhash: hashOf(slot, branch),
    parentSlot: parent,
    parentBlockhash: hashOf(parent, parentBranch),
    transactionCount,
    rewards: [],
    blockTime: undefined,
    blockHeight: undefined,
  };
}

export function partOf(slot: number, index: number): TransactionPart {
  return { index, transaction: Buffer.from([10, 2, slot & 127, index]), meta: Buffer.from([]) };
}

export function blockOf(slot: number, block: MadeBlock = {}): SubscribeUpdate {
  const meta = metaOf(slot, block);
  const transactions = Array.from({ length: meta.transactionCount }, (_, i) => partOf(slot, i));
  return { kind: 'block', meta, transactions };
}

export function statusOf(slot: number, status: SlotStatus): SubscribeUpdate {
  return { kind: 'slot', slot, status };
}
