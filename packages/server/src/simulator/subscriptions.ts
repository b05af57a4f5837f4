import type { WebSocket } from 'ws';
import { renderFailure } from './answer-request.ts';
import type { ChainBlock } from './chain-block.ts';
import { numberOf } from './faults.ts';
import type { NodeLimits } from './limits.ts';
import type { Changes } from './notifier.ts';
import { failure, invalidParams, RpcFailure } from './rpc-failure.ts';
import { type RpcModules, RpcNode } from './rpc-methods.ts';
import { type BlockConfig, parseBlockConfig, parseConfig } from './rpc-params.ts';
import { parseRpcRequest, type RpcCall, type RpcItem } from './rpc-request.ts';

type Topic =
  | { readonly kind: 'slot' }
  | { readonly kind: 'root' }
  | { readonly kind: 'block'; readonly config: BlockConfig };

interface Subscription {
  readonly id: number;
  readonly topic: Topic;
  /** With the fault `disorder`: what waits for the notification after it. */
  held: string | undefined;
}

/** Closed because the reader is too slow, or there are too many of them: try again later. */
const closeCodeBusy = 1013;

/** The subscriptions of a node's WebSockets, and what they are sent. */
export class Subscriptions {
  readonly #limits: NodeLimits;
  readonly #modules: RpcModules;
  readonly #sockets = new Map<WebSocket, Map<number, Subscription>>();
  #nextId = 0;

  constructor(options: { limits: NodeLimits }, modules: RpcModules) {
    this.#limits = options.limits;
    this.#modules = modules;
  }

  get socketCount(): number {
    return this.#sockets.size;
  }

  add(socket: WebSocket): void {
    // An error is followed by a close, which is where the socket is forgotten.
    socket.on('error', () => undefined);
    if (this.#sockets.size >= this.#limits.socketCountMax) {
      socket.close(closeCodeBusy, 'too many connections');
      return;
    }
    this.#sockets.set(socket, new Map());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('message', (data) => this.#receive(socket, String(data)));
  }

  /** Closes every socket that the fault `ws-close` hits, without waiting for something to tell. */
  closeByFault(): void {
    for (const socket of [...this.#sockets.keys()]) this.#isClosedByFault(socket, undefined);
  }

  terminate(): void {
    for (const socket of this.#sockets.keys()) socket.terminate();
  }

  publish(changes: Changes): void {
    const blocks = new BlockNotices(this.#modules, changes);
    for (const [socket, subscriptions] of this.#sockets) {
      for (const subscription of subscriptions.values()) {
        const notices = noticesOf(subscription.topic, changes, blocks);
        for (const notice of notices) this.#notify(socket, subscription, notice);
      }
    }
  }

  #notify(socket: WebSocket, subscription: Subscription, notice: Notice): void {
    const { faults } = this.#modules;
    const { kind } = subscription.topic;
    const subject = { method: `${kind}Subscribe`, slot: notice.slot };
    if (faults.find('stall', subject) || this.#isClosedByFault(socket, subject)) return;
    const text = `{"jsonrpc":"2.0","method":"${kind}Notification","params":{"result":${notice.result},"subscription":${subscription.id}}}`;
    const redeliver = faults.take('redeliver', subject);
    const copies = redeliver ? numberOf(redeliver, 'copies') : 1;
    if (subscription.held === undefined && faults.take('disorder', subject)) {
      subscription.held = text;
      return;
    }
    for (let copy = 0; copy < copies; copy++) this.#send(socket, text);
    if (subscription.held !== undefined) this.#send(socket, subscription.held);
    subscription.held = undefined;
  }

  #send(socket: WebSocket, text: string): void {
    if (socket.bufferedAmount > this.#limits.socketBacklogBytesMax) socket.terminate();
    else socket.send(text);
  }

  #isClosedByFault(
    socket: WebSocket,
    subject: { method: string; slot: number } | undefined,
  ): boolean {
    const fault = this.#modules.faults.take('ws-close', subject);
    if (fault) socket.close(numberOf(fault, 'code'));
    return fault !== undefined;
  }

  #receive(socket: WebSocket, text: string): void {
    const request = parseRpcRequest(text, this.#limits.batchItemsMax);
    const items = request.kind === 'batch' ? request.items : [request.item];
    const answers = items
      .map((item) => this.#answer(socket, item))
      .filter((at) => at !== undefined);
    if (answers.length === 0) return;
    socket.send(request.kind === 'batch' ? `[${answers.join(',')}]` : (answers[0] as string));
  }

  #answer(socket: WebSocket, item: RpcItem): string | undefined {
    if ('failure' in item) return renderFailure(item.failure, item.id);
    try {
      const result = this.#obey(socket, item);
      if (item.id === undefined) return undefined;
      return JSON.stringify({ jsonrpc: '2.0', result, id: item.id });
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return item.id === undefined ? undefined : renderFailure(error, item.id);
    }
  }

  #obey(socket: WebSocket, { method, params }: RpcCall): number | boolean {
    switch (method) {
      case 'slotSubscribe':
        return this.#subscribe(socket, { kind: 'slot' });
      case 'rootSubscribe':
        return this.#subscribe(socket, { kind: 'root' });
      case 'blockSubscribe':
        return this.#subscribe(socket, { kind: 'block', config: parseBlockTopic(params) });
      case 'slotUnsubscribe':
      case 'rootUnsubscribe':
      case 'blockUnsubscribe':
        return this.#unsubscribe(socket, params[0]);
      default:
        throw failure(-32601);
    }
  }

  #subscribe(socket: WebSocket, topic: Topic): number {
    const subscriptions = this.#sockets.get(socket);
    const { subscriptionsPerSocketMax } = this.#limits;
    if (subscriptions === undefined || subscriptions.size >= subscriptionsPerSocketMax) {
      throw new RpcFailure(-32600, `Too many subscriptions; max ${subscriptionsPerSocketMax}`);
    }
    const id = this.#nextId++;
    subscriptions.set(id, { id, topic, held: undefined });
    return id;
  }

  #unsubscribe(socket: WebSocket, id: unknown): boolean {
    if (this.#sockets.get(socket)?.delete(id as number)) return true;
    throw new RpcFailure(-32602, 'Invalid subscription id.');
  }
}

function parseBlockTopic(params: readonly unknown[]): BlockConfig {
  if (params[0] !== 'all') throw invalidParams('only the filter "all" is simulated');
  return parseBlockConfig(parseConfig(params[1]), {
    rewards: 'showRewards',
    rewardsPreset: false,
    encodingPreset: 'base64',
  });
}

interface Notice {
  readonly slot: number;
  /** JSON of the notification's result. */
  readonly result: string;
}

function noticesOf(topic: Topic, changes: Changes, blocks: BlockNotices): readonly Notice[] {
  switch (topic.kind) {
    case 'slot':
      return changes.processed.map((at) => ({
        slot: at.slot,
        result: JSON.stringify({ slot: at.slot, parent: at.parent, root: at.root }),
      }));
    case 'root':
      return changes.finalized.map(({ slot }) => ({ slot, result: String(slot) }));
    default:
      return blocks.of(topic.config);
  }
}

/** Block notifications of one change, rendered once for all subscribers that asked for the same. */
class BlockNotices {
  readonly #modules: RpcModules;
  readonly #changes: Changes;
  readonly #notices = new Map<string, readonly Notice[]>();

  constructor(modules: RpcModules, changes: Changes) {
    this.#modules = modules;
    this.#changes = changes;
  }

  of(config: BlockConfig): readonly Notice[] {
    const key = JSON.stringify(config);
    const known = this.#notices.get(key);
    if (known !== undefined) return known;
    const blocks = this.#changes[config.commitment].filter((block) => !this.#isHidden(block));
    const notices = blocks.map((block) => this.#render(block, config));
    this.#notices.set(key, notices);
    return notices;
  }

  #isHidden({ slot }: ChainBlock): boolean {
    return this.#modules.faults.find('skip-block', { slot }) !== undefined;
  }

  #render(block: ChainBlock, config: BlockConfig): Notice {
    const { slot } = block;
    const wrap = (json: string, err: unknown): Notice => ({
      slot,
      result: `{"context":{"slot":${slot}},"value":{"slot":${slot},"block":${json},"err":${JSON.stringify(err)}}}`,
    });
    try {
      const rendered = new RpcNode(this.#modules).rendered(block, config);
      return wrap(Buffer.from(rendered.json).toString(), null);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      const { versionMax } = this.#modules.blocks.get(block, config);
      return wrap('null', { UnsupportedTransactionVersion: versionMax });
    }
  }
}
