import { type GrpcCall, GrpcChannel } from '@sluice/grpc/grpc-channel';
import type { GrpcStatus } from '@sluice/grpc/grpc-status';
import {
  encodePing,
  encodeSubscribeRequest,
  SUBSCRIBE_PATH,
  type SubscribeRequest,
} from '@sluice/grpc/subscribe-request';
import { readSubscribeUpdate, type SubscribeUpdate } from '@sluice/grpc/subscribe-update';
import type { SimulatedNode } from '../start-node.ts';

const nothing: SubscribeRequest = {
  slots: false,
  blocks: false,
  transactions: false,
  blockMetas: false,
  commitment: 'confirmed',
};

/** The updates that a gRPC stream received, which are taken one by one. Pings are left out. */
export class GrpcInbox {
  readonly ended: Promise<GrpcStatus>;
  readonly #channel: GrpcChannel;
  readonly #call: GrpcCall;
  readonly #updates: SubscribeUpdate[] = [];
  readonly #readers: ((update: SubscribeUpdate) => void)[] = [];

  static open(
    node: Pick<SimulatedNode, 'grpcUrl'>,
    request: Partial<SubscribeRequest>,
    metadata: Readonly<Record<string, string>> = {},
  ): GrpcInbox {
    return new GrpcInbox(node.grpcUrl, { ...nothing, ...request }, metadata);
  }

  private constructor(
    url: string,
    request: SubscribeRequest,
    metadata: Readonly<Record<string, string>>,
  ) {
    this.#channel = new GrpcChannel(url);
    this.#call = this.#channel.open({
      path: SUBSCRIBE_PATH,
      metadata,
      messageBytesMax: 64 * 1024 * 1024,
      onMessage: (message) => this.#receive(readSubscribeUpdate(message)),
    });
    this.#call.send(encodeSubscribeRequest(request));
    this.ended = this.#call.ended.then((status) => {
      this.#channel.close();
      return status;
    });
  }

  /** Waits until the server has handled the subscription. */
  async ready(): Promise<void> {
    this.#call.send(encodePing(1));
    while ((await this.next()).kind !== 'pong') {
      // Updates that were sent before are not of interest.
    }
  }

  next(): Promise<SubscribeUpdate> {
    const update = this.#updates.shift();
    if (update !== undefined) return Promise.resolve(update);
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  async take(count: number): Promise<SubscribeUpdate[]> {
    const updates: SubscribeUpdate[] = [];
    while (updates.length < count) updates.push(await this.next());
    return updates;
  }

  close(): void {
    this.#call.cancel();
  }

  #receive(update: SubscribeUpdate): void {
    if (update.kind === 'ping') return;
    const reader = this.#readers.shift();
    if (reader !== undefined) reader(update);
    else this.#updates.push(update);
  }
}
