/** A thread of the engine whose code runs in the process of the simulation, in turn with everything else. */
import { CodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import type {
  FromThread,
  SegmentLocation,
  ToThread,
} from '../../packages/server/src/engine/threads/engine-messages.ts';
import type { PoolThread } from '../../packages/server/src/engine/threads/engine-pool.ts';
import {
  EngineThread,
  type EngineWorkerData,
} from '../../packages/server/src/engine/threads/engine-thread.ts';
import { FetchSignal } from '../../packages/server/src/engine/threads/fetch-signal.ts';
import {
  CachedRangeFile,
  missingOpening,
  openingRanges,
} from '../../packages/server/src/object-store/cached-range-file.ts';
import type { SimFs } from '../../packages/server/src/storage/testing/sim-fs.ts';
import type { Life, Scheduler } from './scheduler.ts';

export interface ThreadDependencies {
  readonly disk: SimFs;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly life: Life;
}

/** Messages in one direction. They take time and keep their order. */
class Wire<Message> {
  readonly #dependencies: ThreadDependencies;
  #receive: (message: Message) => void = () => undefined;
  #lastMs = 0;

  constructor(dependencies: ThreadDependencies) {
    this.#dependencies = dependencies;
  }

  set receive(receive: (message: Message) => void) {
    this.#receive = receive;
  }

  send(message: Message): void {
    const { scheduler, random, life } = this.#dependencies;
    this.#lastMs = Math.max(this.#lastMs, scheduler.nowMs + random.unit() * 0.3);
    scheduler.schedule(this.#lastMs - scheduler.nowMs, life, () => this.#receive(message));
  }
}

/** A cache from which a segment is evicted more often, between its fetch and its read, is far too small. */
const attemptCountMax = 16;

type CachedLocation = Extract<SegmentLocation, { kind: 'cached' }>;
type Fetched = { readonly bytes: Uint8Array } | { readonly error: unknown };

/**
 * Fetches what a message needs before the thread receives it. A real thread is blocked while it fetches; this one would block the
 * simulation. Later messages wait meanwhile, as they do for a real thread.
 *
 * Other segments of the message, or another thread, may evict a segment before it is read. A real thread then fetches it again. This one
 * gets the bytes of the first fetch again, which are the same, because a segment never changes.
 */
class Fetching {
  readonly #dependencies: ThreadDependencies;
  readonly #locations = new Map<number, SegmentLocation>();
  /** The result of the last fetch of each segment. A probe does not fetch, and has locations of its own. */
  readonly #fetched = new WeakMap<CachedLocation, Fetched>();
  readonly #signal: FetchSignal;
  readonly #send: (message: FromThread) => void;
  #lastTicket = 0;

  constructor(
    buffer: SharedArrayBuffer,
    send: (message: FromThread) => void,
    dependencies: ThreadDependencies,
  ) {
    this.#signal = new FetchSignal(buffer);
    this.#send = send;
    this.#dependencies = dependencies;
  }

  /** The module that a thread of a service with a bucket loads, over the simulated disk. */
  get module() {
    const { disk } = this.#dependencies;
    const fetched = this.#fetched;
    class SimulatedCachedFile extends CachedRangeFile {
      readonly #location: CachedLocation;

      constructor(...[location, { fetchAhead }]: ConstructorParameters<typeof CachedRangeFile>) {
        const fetchNow = () => void fetchedBytes(fetched.get(location));
        super(location, { fetchNow, fetchAhead }, (path) => disk.openRange(path));
        this.#location = location;
      }

      override readInto(offset: number, target: Uint8Array): number {
        const end = Math.min(offset + target.length, this.length);
        if (this.missing([{ start: offset, end }]).length === 0)
          return super.readInto(offset, target);
        const bytes = fetchedBytes(fetched.get(this.#location)).subarray(offset, end);
        target.set(bytes);
        return bytes.length;
      }
    }
    return { CachedRangeFile: SimulatedCachedFile, missingOpening, openingRanges };
  }

  async before(message: ToThread): Promise<void> {
    if (message.kind === 'open') this.#locations.set(message.segment, message.location);
    else if (message.kind === 'close') this.#locations.delete(message.segment);
    const segments =
      message.kind === 'run'
        ? message.run.segments
        : message.kind === 'lookup'
          ? message.segments
          : [];
    for (const segment of segments) await this.#fetch(segment);
  }

  async #fetch(segment: number): Promise<void> {
    const location = this.#locations.get(segment);
    if (location?.kind !== 'cached') return;
    let result: Fetched = { error: new CodedError('cache-too-small') };
    try {
      for (let attempt = 0; attempt < attemptCountMax; attempt++) {
        const ranges = missingOpening(location);
        if (ranges.length === 0) {
          result = { bytes: this.#readWhole(location) };
          break;
        }
        const ticket = ++this.#lastTicket;
        this.#send({ kind: 'fetch', segment, ranges, ticket });
        await this.#untilEnded(ticket);
        this.#signal.wait(ticket);
      }
    } catch (error) {
      result = { error };
    }
    this.#fetched.set(location, result);
  }

  /** The segments of the simulation are so small that the parts that are fetched first are the whole segment. */
  #readWhole(location: CachedLocation): Uint8Array {
    const fetcher = { fetchNow: () => undefined, fetchAhead: () => undefined };
    const open = (path: string) => this.#dependencies.disk.openRange(path);
    const file = new CachedRangeFile(location, fetcher, open);
    try {
      return file.read(0, location.byteLength);
    } finally {
      file.close();
    }
  }

  async #untilEnded(ticket: number): Promise<void> {
    const { scheduler, life } = this.#dependencies;
    for (let waitMs = 2; this.#signal.lastTicket !== ticket; waitMs = Math.min(100, waitMs * 2))
      await scheduler.delay(waitMs, life);
  }
}

function fetchedBytes(fetched: Fetched | undefined): Uint8Array {
  if (fetched !== undefined && 'bytes' in fetched) return fetched.bytes;
  throw fetched?.error ?? new CodedError('cache-too-small');
}

export function startSimulatedThread(
  data: EngineWorkerData,
  dependencies: ThreadDependencies,
): PoolThread {
  const down = new Wire<ToThread>(dependencies);
  const up = new Wire<FromThread>(dependencies);
  const { disk, scheduler, life } = dependencies;
  const fetching = new Fetching(data.fetchSignal, (message) => up.send(message), dependencies);
  new EngineThread(data, {
    port: {
      on: (_event, receive) => {
        down.receive = data.readsStore ? inOrder(fetching, receive) : receive;
      },
      postMessage: (message) => up.send(message),
    },
    clock: scheduler.clock(life),
    openFile: (path) => disk.openRange(path),
    cachedFiles: data.readsStore ? fetching.module : undefined,
  });
  return {
    on: (event: string, receive: (value: never) => void) => {
      if (event === 'message') up.receive = receive as (message: FromThread) => void;
    },
    postMessage: (message) => down.send(message),
    terminate: async () => undefined,
  };
}

function inOrder(fetching: Fetching, receive: (message: ToThread) => void) {
  let last: Promise<void> = Promise.resolve();
  return (message: ToThread) => {
    last = last.then(() => fetching.before(message)).then(() => receive(message));
  };
}
