/** The feed as a stream of NATS JetStream, and the lease as a key with a time to live in a JetStream bucket. */
import {
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { Feed, FeedMessage, Lease } from './feed.ts';
import { KvLease } from './kv-lease.ts';

export interface JetStreamFeedOptions {
  readonly dataset: string;
  readonly servers: readonly string[];
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  readonly replicas: number;
  readonly bytesMax: number;
  readonly leaseMs: number;
}

/** An acknowledgement takes milliseconds; an election of a new leader among the servers takes a second or two. */
const publishMsMax = 3_000;
const requestMsMax = 3_000;
const connectMsMax = 3_000;
const reconnectWaitMs = 250;
const readyMsMax = 10_000;
const readyStepMs = 250;
/** The duration of a request for messages. The server must send a heartbeat in half of it. */
const pullMs = 4_000;
/**
 * Servers elect another leader after 4 s without a message from the present one, at the earliest. So a leader that has heard from a
 * majority within this time is the only one.
 */
const contactMsMax = 3_000;
/** The interval of pings. After two pings without a response, the client connects to another server. */
const pingMs = 1_500;
/** The maximum size of messages that wait in this process to be applied. */
const pendingBytesMax = 16 << 20;
const wrongLastSequence: ReadonlySet<number> = new Set([10_071, 10_164]);
/** Error codes of the servers: the stream has reached its limit of bytes, or they have no storage left. */
const streamFull: ReadonlySet<number> = new Set([10_023, 10_047, 10_077]);
/** The remaining share of a stream is reserved for messages that seal blocks, so that old messages can be removed. */
const fullShare = 0.9;
const streamMissing = 10_059;
const leaseBucket = 'sluice-leases';

export class JetStreamFeed implements Feed {
  readonly #options: JetStreamFeedOptions;
  readonly #clock: Clock;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  #leases: KV | undefined;
  /** The size of the stream: the last reported size plus the bytes that were published since. */
  #bytes = 0;
  /** The limit of the stream. It differs from the configured one if the stream was created with another limit. */
  #bytesMax: number;

  private constructor(
    options: JetStreamFeedOptions,
    clock: Clock,
    connection: NatsConnection,
    manager: JetStreamManager,
  ) {
    this.#options = options;
    this.#bytesMax = options.bytesMax;
    this.#clock = clock;
    this.#connection = connection;
    this.#client = jetstream(connection, { timeout: requestMsMax });
    this.#manager = manager;
  }

  /** Connects, and creates the stream of the dataset if it does not exist. */
  static async open(
    options: JetStreamFeedOptions,
    { clock }: { clock: Clock },
  ): Promise<JetStreamFeed> {
    const connection = await connectTo(options);
    try {
      const manager = await jetstreamManager(connection, {
        timeout: requestMsMax,
        checkAPI: false,
      });
      const feed = new JetStreamFeed(options, clock, connection, manager);
      await feed.#createStream();
      await feed.#untilReady();
      return feed;
    } catch (error) {
      await connection.close();
      throw toCoded(error, 'open');
    }
  }

  /** The maximum size of a message, less the headers that the client adds. */
  get messageBytesMax(): number {
    return (this.#connection.info?.max_payload ?? 1 << 20) - 1_024;
  }

  get isNearlyFull(): boolean {
    return this.#bytes > this.#bytesMax * fullShare;
  }

  async readLastSequence(): Promise<number> {
    const { state, cluster, config } = await this.readInfo();
    const contacts = (cluster?.replicas ?? []).filter(
      ({ active, offline }) => offline !== true && active / 1e6 < contactMsMax,
    );
    const isLed = config.num_replicas === 1 || cluster?.leader !== undefined;
    const isMajority = (contacts.length + 1) * 2 > config.num_replicas;
    if (isLed && isMajority) return state.last_seq;
    // A server that was paused or cut off may believe that it is the leader, and return an old sequence.
    const reason = 'the leader of the stream is not in contact with a majority';
    throw new CodedError('feed-unreachable', { operation: 'info', reason });
  }

  async readInfo(): Promise<StreamInfo> {
    try {
      const info = await this.#manager.streams.info(this.#stream);
      this.#bytes = info.state.bytes;
      if (info.config.max_bytes > 0) this.#bytesMax = info.config.max_bytes;
      return info;
    } catch (error) {
      throw toCoded(error, 'info');
    }
  }

  async publish(bytes: Uint8Array, expectedSequence: number): Promise<number> {
    try {
      const ack = await this.#client.publish(this.#subject, bytes, {
        expect: { streamName: this.#stream, lastSequence: expectedSequence },
        timeout: publishMsMax,
        // If an acknowledgement is lost, reading the feed shows whether the message was stored. Sending it again could store it twice.
        retries: 0,
      });
      this.#bytes += bytes.length;
      return ack.seq;
    } catch (error) {
      throw toCoded(error, 'publish');
    }
  }

  async *read(firstSequence: number, signal: AbortSignal): AsyncGenerator<FeedMessage> {
    let next = firstSequence;
    try {
      await this.#checkPosition(firstSequence);
      const consumer = await this.#client.consumers.get(this.#stream, {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: firstSequence,
        inactive_threshold: 60_000,
      });
      const messages = await consumer.consume({ max_bytes: pendingBytesMax, expires: pullMs });
      const stop = () => messages.stop();
      signal.addEventListener('abort', stop, { once: true });
      try {
        // The iterator runs what `stop` queues. Without an iteration `close` would never resolve.
        if (signal.aborted) stop();
        for await (const { seq, data } of messages) {
          if (seq < next) continue;
          if (seq > next) throw new CodedError('feed-gap', { wanted: next, first: seq });
          next = seq + 1;
          yield { sequence: seq, bytes: data };
          if (signal.aborted) return;
        }
      } finally {
        signal.removeEventListener('abort', stop);
        await messages.close().catch(() => undefined);
      }
    } catch (error) {
      // A read that was aborted while it waited for the servers has not failed.
      if (!signal.aborted) throw toCoded(error, 'read');
    }
  }

  /** Throws `feed-gap` if messages from this sequence on were removed, or if the stream never reached it. */
  async #checkPosition(firstSequence: number): Promise<void> {
    const { state } = await this.readInfo();
    const { first_seq: first, last_seq: last } = state;
    // A stream whose last sequence is below the position of this reader was created again, or has lost messages.
    if ((first > firstSequence && last >= firstSequence) || last < firstSequence - 1) {
      throw new CodedError('feed-gap', { wanted: firstSequence, first, last });
    }
  }

  async purgeBelow(sequence: number): Promise<void> {
    try {
      await this.#manager.streams.purge(this.#stream, { seq: sequence });
    } catch (error) {
      throw toCoded(error, 'purge');
    }
    await this.readInfo();
  }

  async acquireLease(holder: string, signal: AbortSignal): Promise<Lease | undefined> {
    const { dataset } = this.#options;
    const { kv, leaseMs } = await this.#openLeases();
    const options = { key: dataset, holder, leaseMs };
    const changeLeader = async () => {
      const subject = `$JS.API.STREAM.LEADER.STEPDOWN.KV_${leaseBucket}`;
      await this.#connection.request(subject, '', { timeout: requestMsMax });
    };
    const dependencies = { kv, clock: this.#clock, changeLeader };
    const lease = await KvLease.acquire(options, dependencies, signal);
    if (lease !== undefined) await this.#applyLimits();
    return lease;
  }

  /** Applies the configured limits to the stream. If the server refuses, the old limits stay, and doctor shows them. */
  async #applyLimits(): Promise<void> {
    const { bytesMax, replicas } = this.#options;
    try {
      const { config } = await this.readInfo();
      if (config.max_bytes === bytesMax && config.num_replicas === replicas) return;
      const limits = { max_bytes: bytesMax, num_replicas: replicas };
      await this.#manager.streams.update(this.#stream, limits);
      await this.readInfo();
    } catch {
      // The old limits stay. If the feed has failed, the next message reports it.
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  get #stream(): string {
    return `sluice-${this.#options.dataset}`;
  }

  get #subject(): string {
    return `sluice.${this.#options.dataset}`;
  }

  /** Waits, for a limited time, until the stream has a leader. A new stream elects its leader first. */
  async #untilReady(): Promise<void> {
    const deadlineMs = this.#clock.nowMs() + readyMsMax;
    for (;;) {
      try {
        await this.readLastSequence();
        return;
      } catch (error) {
        if (this.#clock.nowMs() >= deadlineMs) throw error;
        await this.#clock.sleep(readyStepMs);
      }
    }
  }

  async #createStream(): Promise<void> {
    try {
      await this.#manager.streams.info(this.#stream);
      return;
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== streamMissing) throw error;
    }
    await this.#manager.streams.add({
      name: this.#stream,
      subjects: [this.#subject],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      // A full stream refuses new messages. Discarding old ones would lose blocks that are not sealed yet.
      discard: DiscardPolicy.New,
      num_replicas: this.#options.replicas,
      max_bytes: this.#options.bytesMax,
      deny_delete: true,
    });
  }

  /** Opens or creates the bucket of the leases. Returns its actual time to live: another process may have created it with another one. */
  async #openLeases(): Promise<{ kv: KV; leaseMs: number }> {
    const { leaseMs, replicas } = this.#options;
    try {
      this.#leases ??= await new Kvm(this.#client).create(leaseBucket, {
        ttl: leaseMs,
        replicas,
        history: 1,
        storage: StorageType.File,
      });
      const { ttl } = await this.#leases.status();
      return { kv: this.#leases, leaseMs: ttl > 0 ? ttl : leaseMs };
    } catch (error) {
      throw toCoded(error, 'open leases');
    }
  }
}

async function connectTo(options: JetStreamFeedOptions): Promise<NatsConnection> {
  const { servers, user, password, token } = options;
  try {
    return await connect({
      servers: [...servers],
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { pass: password }),
      ...(token === undefined ? {} : { token }),
      name: `sluice ${options.dataset}`,
      timeout: connectMsMax,
      maxReconnectAttempts: -1,
      reconnectTimeWait: reconnectWaitMs,
      pingInterval: pingMs,
      maxPingOut: 2,
    });
  } catch (error) {
    throw toCoded(error, 'connect');
  }
}

function toCoded(error: unknown, operation: string): CodedError {
  if (isCodedError(error)) return error;
  if (error instanceof JetStreamApiError) {
    const { code } = error;
    if (wrongLastSequence.has(code)) return new CodedError('feed-fenced', {}, { cause: error });
    if (streamFull.has(code)) return new CodedError('feed-full', {}, { cause: error });
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new CodedError('feed-unreachable', { operation, reason }, { cause: error });
}
