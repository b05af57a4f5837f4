/** The servers that several machines share: a bucket and a feed with its lease. They respond late, wrongly or not at all. */
import { CodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import type { Feed, FeedMessage, Lease } from '../../packages/server/src/cluster/feed.ts';
import { KvLease, type KvLeaseDependencies } from '../../packages/server/src/cluster/kv-lease.ts';
import type {
  ByteRange,
  ObjectInfo,
  ObjectStore,
} from '../../packages/server/src/object-store/object-store.ts';
import { TransientFailure, withRetries } from '../../packages/server/src/object-store/retry.ts';
import { type Life, type Scheduler, startUnixMs } from './scheduler.ts';

type Kv = KvLeaseDependencies['kv'];
type KvEntry = NonNullable<Awaited<ReturnType<Kv['get']>>>;

/** `refuses`: an error at once. `stalls`: no response. `forgets`: the request is done, and its response is lost. */
export type RemoteFault = 'none' | 'refuses' | 'stalls' | 'forgets' | 'slow';

interface Fate {
  kind: RemoteFault;
  /** The share of the requests that the fault affects. */
  share: number;
}

const requestMsMax = 2_000;
const slowMsMax = 1_500;
const leaseMs = 5_000;

/** What the servers have stored. It survives every machine. */
export class RemoteServers {
  readonly objects = new Map<string, { bytes: Uint8Array; modifiedUnixMs: number }>();
  readonly store: Fate = { kind: 'none', share: 1 };
  readonly feed: Fate = { kind: 'none', share: 1 };
  readonly messages: FeedMessage[] = [];
  lastSequence = 0;
  isFeedFull = false;
  /** Called with every new message. */
  readonly readers = new Set<() => void>();
  /** The key of the lease. */
  lease = { holder: '', revision: 0, renewedMs: Number.NEGATIVE_INFINITY };

  get isBroken(): boolean {
    return this.store.kind !== 'none' || this.feed.kind !== 'none' || this.isFeedFull;
  }

  heal(): void {
    this.store.kind = 'none';
    this.feed.kind = 'none';
    this.isFeedFull = false;
  }

  /** Gives the lease to a process that does not exist. It expires. */
  stealLease(nowMs: number): void {
    this.lease = { holder: 'nobody', revision: this.lease.revision + 1, renewedMs: nowMs };
  }
}

export interface RemoteDependencies {
  readonly servers: RemoteServers;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly life: Life;
}

/** Requests of one process to the servers. The effect and its report are separate events. */
class Requests {
  readonly #dependencies: RemoteDependencies;

  constructor(dependencies: RemoteDependencies) {
    this.#dependencies = dependencies;
  }

  async send<Result>({ kind, share }: Fate, effect: () => Result): Promise<Result> {
    const { random } = this.#dependencies;
    await this.#pause(kind === 'slow' ? slowMsMax : 4);
    const isHit = kind !== 'none' && random.chance(share);
    if (isHit && kind === 'refuses') throw new TransientFailure('503');
    if (isHit && kind === 'stalls') await this.#timeOut();
    const result = effect();
    if (isHit && kind === 'forgets') await this.#timeOut();
    await this.#pause(kind === 'slow' ? slowMsMax : 4);
    return result;
  }

  async #timeOut(): Promise<never> {
    await this.#dependencies.scheduler.delay(requestMsMax, this.#dependencies.life);
    throw new TransientFailure('timeout');
  }

  #pause(msMax: number): Promise<void> {
    const { scheduler, random, life } = this.#dependencies;
    return scheduler.delay(random.unit() * msMax, life);
  }
}

/** The bucket as one process sees it, with the retries of the real client. */
export class SimulatedStore implements ObjectStore {
  readonly #dependencies: RemoteDependencies;
  readonly #requests: Requests;

  constructor(dependencies: RemoteDependencies) {
    this.#dependencies = dependencies;
    this.#requests = new Requests(dependencies);
  }

  get(key: string, range?: ByteRange): Promise<Uint8Array> {
    return this.#send('get', () => {
      const found = this.#objects.get(key);
      if (found === undefined) throw new CodedError('store-object-missing', { operation: 'get' });
      return found.bytes.slice(range?.start, range?.end);
    });
  }

  head(key: string): Promise<ObjectInfo | undefined> {
    return this.#send('head', () => this.#describe(key));
  }

  put(key: string, bytes: Uint8Array): Promise<void> {
    return this.#send('put', () => this.#write(key, bytes));
  }

  /** A retry that finds the bytes of an earlier attempt has created the object. */
  create(key: string, bytes: Uint8Array): Promise<boolean> {
    let isFirst = true;
    return this.#send('create', () => {
      const found = this.#objects.get(key);
      const isOwn = !isFirst && found !== undefined && Buffer.compare(found.bytes, bytes) === 0;
      isFirst = false;
      if (found === undefined) this.#write(key, bytes);
      return found === undefined || isOwn;
    });
  }

  list(prefix: string): Promise<ObjectInfo[]> {
    return this.#send('list', () => {
      const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort();
      return keys.flatMap((key) => this.#describe(key) ?? []);
    });
  }

  remove(key: string): Promise<void> {
    return this.#send('remove', () => {
      this.#objects.delete(key);
    });
  }

  async close(): Promise<void> {}

  #send<Result>(operation: string, effect: () => Result): Promise<Result> {
    const { scheduler, life, random, servers } = this.#dependencies;
    return withRetries(operation, () => this.#requests.send(servers.store, effect), {
      clock: scheduler.clock(life),
      random: () => random.unit(),
    });
  }

  #write(key: string, bytes: Uint8Array): void {
    const modifiedUnixMs = startUnixMs + this.#dependencies.scheduler.nowMs;
    this.#objects.set(key, { bytes: new Uint8Array(bytes), modifiedUnixMs });
  }

  #describe(key: string): ObjectInfo | undefined {
    const found = this.#objects.get(key);
    if (found === undefined) return undefined;
    const { bytes, modifiedUnixMs } = found;
    return { key, byteLength: bytes.length, modifiedUnixMs };
  }

  get #objects() {
    return this.#dependencies.servers.objects;
  }
}

/** The feed as one process sees it. Its lease is the real one, over a simulated key. */
export class SimulatedFeed implements Feed {
  readonly messageBytesMax: number;
  readonly #dependencies: RemoteDependencies;
  readonly #requests: Requests;

  constructor(messageBytesMax: number, dependencies: RemoteDependencies) {
    this.messageBytesMax = messageBytesMax;
    this.#dependencies = dependencies;
    this.#requests = new Requests(dependencies);
  }

  get isNearlyFull(): boolean {
    return this.#servers.isFeedFull;
  }

  readLastSequence(): Promise<number> {
    return this.#send('last', () => this.#servers.lastSequence);
  }

  publish(bytes: Uint8Array, expectedSequence: number): Promise<number> {
    return this.#send('publish', () => {
      const servers = this.#servers;
      if (servers.lastSequence !== expectedSequence) throw new CodedError('feed-fenced');
      servers.messages.push({ sequence: ++servers.lastSequence, bytes: new Uint8Array(bytes) });
      for (const wake of servers.readers) wake();
      return servers.lastSequence;
    });
  }

  async *read(firstSequence: number, signal: AbortSignal): AsyncGenerator<FeedMessage> {
    const servers = this.#servers;
    for (let next = firstSequence; !signal.aborted; ) {
      const message = await this.#send('read', () => this.#find(next));
      // The server of a stalled reader has forgotten it, also after the fault has ended.
      if (servers.feed.kind === 'stalls') await untilAborted(signal);
      else if (message === undefined) await this.#untilWoken(next, signal);
      else if (!signal.aborted) {
        yield message;
        next++;
      }
    }
  }

  purgeBelow(sequence: number): Promise<void> {
    return this.#send('purge', () => {
      const { messages } = this.#servers;
      while ((messages[0]?.sequence ?? sequence) < sequence) messages.shift();
    });
  }

  async acquireLease(holder: string, signal: AbortSignal): Promise<Lease | undefined> {
    const { scheduler, life } = this.#dependencies;
    const changeLeader = async () => undefined;
    const dependencies = { kv: this.#kv, clock: scheduler.clock(life), changeLeader };
    return KvLease.acquire({ key: 'ledger', holder, leaseMs }, dependencies, signal);
  }

  async close(): Promise<void> {}

  #find(sequence: number): FeedMessage | undefined {
    const { messages, lastSequence } = this.#servers;
    const first = messages[0]?.sequence ?? lastSequence + 1;
    if (first > sequence || lastSequence < sequence - 1)
      throw new CodedError('feed-gap', { wanted: sequence, first });
    return messages[sequence - first];
  }

  #untilWoken(sequence: number, signal: AbortSignal): Promise<void> {
    const servers = this.#servers;
    return new Promise((resolve) => {
      const wake = () => {
        servers.readers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      servers.readers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      if (signal.aborted || servers.lastSequence >= sequence) wake();
    });
  }

  async #send<Result>(operation: string, effect: () => Result): Promise<Result> {
    try {
      return await this.#requests.send(this.#servers.feed, effect);
    } catch (error) {
      throw error instanceof TransientFailure ? unreachable(operation, error) : error;
    }
  }

  get #servers(): RemoteServers {
    return this.#dependencies.servers;
  }

  get #kv(): Kv {
    const servers = this.#servers;
    const { scheduler } = this.#dependencies;
    const send = <Result>(effect: () => Result) => this.#requests.send(servers.feed, effect);
    const write = (holder: string, expected?: number) =>
      send(() => {
        const { revision } = this.#lease;
        if ((expected ?? this.#createAt) !== revision)
          throw new TransientFailure('wrong last sequence');
        servers.lease = { holder, revision: revision + 1, renewedMs: scheduler.nowMs };
        return revision + 1;
      });
    return {
      create: (_key: string, holder: string) => write(holder),
      update: (_key: string, holder: string, revision: number) => write(holder, revision),
      get: () => send(() => this.#entry),
      delete: (_key: string, { previousSeq }: { previousSeq: number }) => write('', previousSeq),
    } as unknown as Kv;
  }

  /** The server removes a key that is not renewed. */
  get #lease(): RemoteServers['lease'] {
    const { lease } = this.#servers;
    const isOver = this.#dependencies.scheduler.nowMs - lease.renewedMs > leaseMs;
    return isOver ? { ...lease, holder: '' } : lease;
  }

  /** A key without a holder can be created at any revision. */
  get #createAt(): number {
    return this.#lease.holder === '' ? this.#lease.revision : -1;
  }

  get #entry(): KvEntry | null {
    const { revision, holder } = this.#lease;
    if (revision === 0) return null;
    const operation = holder === '' ? 'DEL' : 'PUT';
    return { revision, operation, string: () => holder } as KvEntry;
  }
}

function unreachable(operation: string, cause: Error): CodedError {
  return new CodedError('feed-unreachable', { operation, reason: cause.message }, { cause });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
