import { elementAt } from '@sluice/base/element-at';
import type { WebSocket } from 'ws';
import { numberOf } from '../faults/faults.ts';
import { renderFailure } from './answer-request.ts';
import type { NodeLimits } from './limits.ts';
import { SUBSCRIBE_METHOD } from './method-names.ts';
import type { ProcessedSlot } from './notifier.ts';
import { failure, RpcFailure } from './rpc-failure.ts';
import type { RpcDependencies } from './rpc-methods.ts';
import { parseRpcRequest, type RpcCall, type RpcItem } from './rpc-request.ts';

/** By id: the notification that the fault `disorder` sends after the next one. */
type HeldNotifications = Map<number, string | undefined>;

/** The close code for too many connections, which means: try again later. */
const closeCodeBusy = 1013;

/** The slot subscriptions of a node's WebSockets. */
export class Subscriptions {
  readonly #limits: NodeLimits;
  readonly #dependencies: Pick<RpcDependencies, 'faults'>;
  readonly #sockets = new Map<WebSocket, HeldNotifications>();
  #nextId = 0;

  constructor(options: { limits: NodeLimits }, dependencies: Pick<RpcDependencies, 'faults'>) {
    this.#limits = options.limits;
    this.#dependencies = dependencies;
  }

  add(socket: WebSocket): void {
    // A close event follows each error and removes the socket.
    socket.on('error', () => undefined);
    if (this.#sockets.size >= this.#limits.socketCountMax) {
      socket.close(closeCodeBusy, 'too many connections');
      return;
    }
    this.#sockets.set(socket, new Map());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('message', (data) => this.#receive(socket, String(data)));
  }

  /** Closes every socket that the fault `ws-close` applies to, without waiting for the next notification. */
  closeByFault(): void {
    for (const socket of [...this.#sockets.keys()]) this.#isClosedByFault(socket, undefined);
  }

  terminate(): void {
    for (const socket of this.#sockets.keys()) socket.terminate();
  }

  publish(slots: readonly ProcessedSlot[]): void {
    for (const [socket, held] of this.#sockets) {
      for (const id of held.keys()) {
        for (const slot of slots) this.#notify(socket, held, id, slot);
      }
    }
  }

  #notify(socket: WebSocket, held: HeldNotifications, id: number, result: ProcessedSlot): void {
    const { faults } = this.#dependencies;
    const { slot } = result;
    const subject = { method: SUBSCRIBE_METHOD, slot };
    if (faults.find('stall', subject) || this.#isClosedByFault(socket, subject)) return;
    const params = { result, subscription: id };
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'slotNotification', params });
    const redeliver = faults.take('redeliver', subject);
    const copies = redeliver ? numberOf(redeliver, 'copies') : 1;
    const earlier = held.get(id);
    if (earlier === undefined && faults.take('disorder', subject)) {
      held.set(id, text);
      return;
    }
    for (let copy = 0; copy < copies; copy++) this.#send(socket, text);
    if (earlier !== undefined) this.#send(socket, earlier);
    held.set(id, undefined);
  }

  #send(socket: WebSocket, text: string): void {
    if (socket.bufferedAmount > this.#limits.socketBacklogBytesMax) socket.terminate();
    else socket.send(text);
  }

  #isClosedByFault(
    socket: WebSocket,
    subject: { method: string; slot: number } | undefined,
  ): boolean {
    const fault = this.#dependencies.faults.take('ws-close', subject);
    if (fault) socket.close(numberOf(fault, 'code'));
    return fault !== undefined;
  }

  #receive(socket: WebSocket, text: string): void {
    const request = parseRpcRequest(text, this.#limits.batchItemsMax);
    const items = request.kind === 'batch' ? request.items : [request.item];
    const responses = items
      .map((item) => this.#answer(socket, item))
      .filter((at) => at !== undefined);
    if (responses.length === 0) return;
    socket.send(request.kind === 'batch' ? `[${responses.join(',')}]` : elementAt(responses, 0));
  }

  #answer(socket: WebSocket, item: RpcItem): string | undefined {
    if ('failure' in item) return renderFailure(item.failure, item.id);
    try {
      const result = this.#call(socket, item);
      if (item.id === undefined) return undefined;
      return JSON.stringify({ jsonrpc: '2.0', result, id: item.id });
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      return item.id === undefined ? undefined : renderFailure(error, item.id);
    }
  }

  #call(socket: WebSocket, { method, params }: RpcCall): number | boolean {
    const subscriptions = this.#sockets.get(socket);
    if (method === 'slotUnsubscribe') {
      if (subscriptions?.delete(params[0] as number)) return true;
      throw new RpcFailure(-32602, 'Invalid subscription id.');
    }
    if (method !== SUBSCRIBE_METHOD) throw failure(-32601);
    const { subscriptionsPerSocketMax } = this.#limits;
    if (subscriptions === undefined || subscriptions.size >= subscriptionsPerSocketMax) {
      throw new RpcFailure(-32600, `Too many subscriptions; max ${subscriptionsPerSocketMax}`);
    }
    const id = this.#nextId++;
    subscriptions.set(id, undefined);
    return id;
  }
}
