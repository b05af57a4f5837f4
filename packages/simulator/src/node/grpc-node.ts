/**
 * The node's stream of updates in the protocol of Yellowstone gRPC: states of slots, and blocks, whole or in parts.
 *
 *   processed ──────────────► block, if the client wants processed ones; status "processed"
 *   confirmed ──────────────► block, if it was not sent yet;             status "confirmed"
 *   finalized ──────────────►                                            status "finalized"
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@sluice/base/clock';
import { createGrpcServer, type GrpcServer, type ServedCall } from '@sluice/grpc/grpc-server';
import { GRPC_CODES } from '@sluice/grpc/grpc-status';
import {
  readSubscribeRequest,
  SUBSCRIBE_PATH,
  type SubscribeRequest,
} from '@sluice/grpc/subscribe-request';
import { encodeSubscribeUpdate, type SubscribeUpdate } from '@sluice/grpc/subscribe-update';
import type { ChainBlock } from '../chain/chain-block.ts';
import { numberOf, textOf } from '../faults/faults.ts';
import { BlockEncoder } from './block-encoder.ts';
import type { NodeLimits } from './limits.ts';
import { GRPC_METHOD } from './method-names.ts';
import type { NodeState } from './node-view.ts';
import type { RpcDependencies } from './rpc-methods.ts';

/** A new subscription can begin this many slots below the newest confirmed one, as on real nodes. */
const replaySlotsMax = 150;
const pingEveryMs = 10_000;
/** The sent hashes that are remembered. */
const sentCountMax = 2_048;
/** After a larger change of the time, only the newest blocks are sent. */
const walkCountMax = 1_024;

interface Subscriber {
  readonly call: ServedCall;
  readonly request: SubscribeRequest;
  /** The hashes of the blocks that were sent. */
  readonly sent: Set<string>;
  /** The update that the fault `disorder` sends after the next one. */
  held: SubscribeUpdate | undefined;
}

export interface GrpcNodeDependencies extends Pick<RpcDependencies, 'view' | 'faults' | 'blocks'> {
  readonly clock: Clock;
  readonly limits: NodeLimits;
}

export class GrpcNode {
  readonly grpc: GrpcServer;
  readonly #token: string | undefined;
  readonly #dependencies: GrpcNodeDependencies;
  readonly #subscribers = new Set<Subscriber>();
  readonly #encoder: BlockEncoder;
  #state: NodeState;

  constructor({ token }: { token: string | undefined }, dependencies: GrpcNodeDependencies) {
    this.#token = token;
    this.#dependencies = dependencies;
    const whole = { transactionDetails: 'full', rewards: true } as const;
    this.#encoder = new BlockEncoder((block) => dependencies.blocks.get(block, whole).json);
    this.#state = dependencies.view.stateAt();
    this.grpc = createGrpcServer((call) => this.#serve(call));
  }

  /** Sends what has changed since the previous state. */
  publish(state: NodeState): void {
    const before = this.#state;
    this.#state = state;
    if (this.#subscribers.size === 0) return;
    const processed = walk(state.processedBranch.blockAt(state.processedSlot), (block) => {
      return block.slot <= before.processedSlot;
    });
    // A fork is confirmed from its ancestor on, and blocks below the head can be among its blocks.
    const confirmed = walk(state.branch.blockAt(state.confirmedSlot), (block) => {
      const { slot, blockhash } = block;
      const isKnown = slot <= before.confirmedSlot;
      return isKnown && before.branch.blockAt(slot)?.blockhash === blockhash;
    });
    for (const subscriber of [...this.#subscribers]) {
      this.#publishTo(subscriber, { processed, confirmed });
      for (let slot = before.finalizedSlot + 1; slot <= state.finalizedSlot; slot++) {
        if (state.branch.hasBlock(slot)) this.#sendStatus(subscriber, slot, 'finalized');
      }
    }
    for (const block of processed) this.prepare(block);
  }

  /** Encodes a block that will be sent soon. A real node has the content of a block before it is confirmed. */
  prepare(block: ChainBlock): void {
    if (this.#isContentWanted) this.#encoder.prepare(block);
  }

  /** Ends all connections and the thread. */
  async stop(): Promise<void> {
    await Promise.all([this.grpc.stop(), this.#encoder.close()]);
  }

  /** Ends every stream that the fault `grpc-end` applies to, without waiting for the next update. */
  endByFault(): void {
    for (const { call } of [...this.#subscribers]) this.#endByFault(call, 'grpc-end');
  }

  get #isContentWanted(): boolean {
    return [...this.#subscribers].some(({ request }) => wantsContent(request));
  }

  #publishTo(
    subscriber: Subscriber,
    blocks: { readonly processed: ChainBlock[]; readonly confirmed: ChainBlock[] },
  ): void {
    for (const block of blocks.processed) {
      if (subscriber.request.commitment === 'processed') this.#sendBlock(subscriber, block);
      this.#sendStatus(subscriber, block.slot, 'processed');
    }
    for (const block of blocks.confirmed) {
      this.#sendBlock(subscriber, block);
      this.#sendStatus(subscriber, block.slot, 'confirmed');
    }
  }

  #serve(call: ServedCall): void {
    if (call.path !== SUBSCRIBE_PATH) {
      call.end({ code: GRPC_CODES.unimplemented, message: `there is no method ${call.path}` });
      return;
    }
    if (this.#token !== undefined && call.metadata['x-token'] !== this.#token) {
      call.end({ code: GRPC_CODES.unauthenticated, message: 'No valid auth token' });
      return;
    }
    let subscriber: Subscriber | undefined;
    call.onMessage = (message) => {
      const request = readSubscribeRequest(message);
      if (request.pingId !== undefined) call.send(encodeSubscribeUpdate({ kind: 'pong' }));
      else if (subscriber === undefined) subscriber = this.#subscribe(call, request);
    };
  }

  #subscribe(call: ServedCall, request: SubscribeRequest): Subscriber | undefined {
    const { fromSlot } = request;
    if (this.#endByFault(call, 'grpc-refuse')) return undefined;
    if (fromSlot !== undefined && this.#endByFault(call, 'grpc-no-replay')) return undefined;
    const first = this.#state.confirmedSlot - replaySlotsMax;
    if (fromSlot !== undefined && fromSlot < first) {
      const message = `broadcast from ${fromSlot} is not available, last available: ${first}`;
      call.end({ code: GRPC_CODES.outOfRange, message });
      return undefined;
    }
    const subscriber = { call, request, sent: new Set<string>(), held: undefined };
    this.#subscribers.add(subscriber);
    call.signal.addEventListener('abort', () => this.#subscribers.delete(subscriber));
    this.#run(subscriber, fromSlot).catch(() => call.destroy());
    return subscriber;
  }

  /** Sends earlier blocks, then pings. */
  async #run(subscriber: Subscriber, fromSlot: number | undefined): Promise<void> {
    const { signal } = subscriber.call;
    if (fromSlot !== undefined) {
      const { branch, confirmedSlot } = this.#state;
      for (const block of walk(branch.blockAt(confirmedSlot), ({ slot }) => slot < fromSlot)) {
        if (signal.aborted) return;
        this.#sendBlock(subscriber, block);
        this.#sendStatus(subscriber, block.slot, 'confirmed');
        const isFinal = block.slot <= this.#state.finalizedSlot;
        if (isFinal) this.#sendStatus(subscriber, block.slot, 'finalized');
        // Encoding takes some time, and new blocks must not wait for it.
        await nextTurn();
      }
    }
    while (!signal.aborted) {
      this.#send(subscriber, { kind: 'ping' });
      await this.#dependencies.clock.sleep(pingEveryMs, signal);
    }
  }

  #sendBlock(subscriber: Subscriber, block: ChainBlock): void {
    const { sent, request } = subscriber;
    if (sent.has(block.blockhash)) return;
    sent.add(block.blockhash);
    const [oldest = ''] = sent;
    if (sent.size > sentCountMax) sent.delete(oldest);
    if (!wantsContent(request)) return;
    if (this.#dependencies.faults.find('skip-block', { slot: block.slot })) return;
    const { parts, update } = this.#encoder.get(block);
    const { meta, transactions } = parts;
    if (request.blocks) this.#send(subscriber, { kind: 'block', meta, transactions }, update);
    if (request.transactions) {
      for (const transaction of transactions) {
        this.#send(subscriber, { kind: 'transaction', slot: block.slot, transaction });
      }
    }
    if (request.blockMetas) this.#send(subscriber, { kind: 'block-meta', meta });
  }

  #sendStatus(
    subscriber: Subscriber,
    slot: number,
    status: 'processed' | 'confirmed' | 'finalized',
  ): void {
    if (subscriber.request.slots) this.#send(subscriber, { kind: 'slot', slot, status });
  }

  /** Sends an update, or damages it as a fault demands. `encoded` has its bytes, if they are known. */
  #send(subscriber: Subscriber, update: SubscribeUpdate, encoded?: Uint8Array): void {
    const { faults, limits } = this.#dependencies;
    const { call } = subscriber;
    const subject = { method: GRPC_METHOD, slot: slotOf(update) };
    if (faults.find('stall', subject) || isOmitted(faults, update)) return;
    if (call.waitingBytes > limits.socketBacklogBytesMax) {
      call.end({ code: GRPC_CODES.internal, message: 'lagged to receive messages' });
      return;
    }
    const redeliver = faults.take('redeliver', subject);
    const copies = redeliver ? numberOf(redeliver, 'copies') : 1;
    const earlier = subscriber.held;
    if (earlier === undefined && faults.take('disorder', subject)) {
      subscriber.held = update;
      return;
    }
    const bytes = encoded ?? encodeSubscribeUpdate(update);
    for (let copy = 0; copy < copies; copy++) call.send(bytes);
    if (earlier !== undefined) call.send(encodeSubscribeUpdate(earlier));
    subscriber.held = undefined;
  }

  #endByFault(call: ServedCall, kind: 'grpc-end' | 'grpc-refuse' | 'grpc-no-replay'): boolean {
    const fault = this.#dependencies.faults.take(kind);
    if (fault === undefined) return false;
    call.end({ code: numberOf(fault, 'status'), message: textOf(fault, 'message') ?? '' });
    return true;
  }
}

function wantsContent({ blocks, transactions, blockMetas }: SubscribeRequest): boolean {
  return blocks || transactions || blockMetas;
}

function isOmitted(faults: RpcDependencies['faults'], update: SubscribeUpdate): boolean {
  const slot = slotOf(update);
  const fault = faults.find('grpc-omit', { slot });
  if (fault === undefined || textOf(fault, 'part') !== update.kind) return false;
  return faults.take('grpc-omit', { slot }) !== undefined;
}

function slotOf(update: SubscribeUpdate): number | undefined {
  if ('slot' in update) return update.slot;
  return 'meta' in update ? update.meta.slot : undefined;
}

/** Returns a block and its ancestors, ascending, down to the first one for which `isEnd` holds, without it. */
function walk(tip: ChainBlock | undefined, isEnd: (block: ChainBlock) => boolean): ChainBlock[] {
  const blocks: ChainBlock[] = [];
  for (let block = tip; block !== undefined && !isEnd(block); block = block.parent()) {
    blocks.push(block);
    if (blocks.length === walkCountMax) break;
  }
  return blocks.reverse();
}
