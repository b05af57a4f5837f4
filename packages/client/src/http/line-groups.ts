/** Splits the body of a response into groups of complete lines, with backpressure. */
import { messageOf } from '@sluice/protocol/unknown-value';
import type { Clock } from '../base/clock.ts';
import { decodeMarked } from '../base/exact-json.ts';
import { SluiceError } from '../base/sluice-error.ts';
import { timedOut, waitFor } from '../base/wait-for.ts';

export interface LineLimits {
  /** The size after which a group is delivered. */
  readonly batchBytesMax: number;
  readonly lineBytesMax: number;
  /** The time without data after which a response counts as stalled. */
  readonly stallMs: number;
}

export interface LineGroup {
  /** The lines. Long integers are in quotes, as `decodeMarked` writes them. */
  readonly lines: readonly string[];
  readonly bytes: number;
}

/** How long to wait for more data before a group is delivered: long enough to gather data in transit, too short to notice. */
const lingerMs = 4;
const lineFeed = 0x0a;

type ReadPromise = Promise<ReadableStreamReadResult<Uint8Array>>;

/**
 * Yields groups of lines as they arrive. Bytes after the last line feed are an incomplete line: they are dropped, and the end is an
 * error, because an empty response has another meaning than a truncated one.
 */
export async function* readLineGroups(
  body: ReadableStream<Uint8Array>,
  limits: LineLimits,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<LineGroup> {
  const reader = body.getReader();
  const gathered = new LineGatherer(limits.lineBytesMax);
  let next = reader.read();
  try {
    for (;;) {
      const chunk = await readChunk(next, limits.stallMs, { clock, signal });
      if (chunk.kind !== 'bytes') {
        // Complete lines are delivered, even if the response ended with an error.
        if (gathered.lineBytes > 0) yield gathered.take();
        if (chunk.kind === 'failed') throw chunk.error;
        if (gathered.restBytes > 0) throw new SluiceError('response-cut');
        return;
      }
      gathered.add(chunk.bytes);
      next = reader.read();
      if (gathered.lineBytes === 0) continue;
      const isFull = gathered.lineBytes >= limits.batchBytesMax;
      if (!isFull && (await isReady(next, clock, signal))) continue;
      yield gathered.take();
    }
  } finally {
    next.catch(() => undefined);
    reader.cancel().catch(() => undefined);
  }
}

type Chunk =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly error: SluiceError };

async function readChunk(
  next: ReadPromise,
  stallMs: number,
  dependencies: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Chunk> {
  try {
    const read = await waitFor(next, { ...dependencies, ms: stallMs });
    if (read !== timedOut)
      return read.done ? { kind: 'end' } : { kind: 'bytes', bytes: read.value };
    return { kind: 'failed', error: new SluiceError('stalled', { detail: `${stallMs} ms` }) };
  } catch (cause) {
    dependencies.signal.throwIfAborted();
    const detail = messageOf(cause);
    return { kind: 'failed', error: new SluiceError('network-failed', { detail, cause }) };
  }
}

/** Returns whether the promise settles immediately or almost so. */
async function isReady(next: ReadPromise, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const settled = next.then(
    () => true,
    () => true,
  );
  return (await waitFor(settled, { clock, signal, ms: lingerMs })) !== timedOut;
}

const bufferBytesMin = 65_536;

/**
 * The received bytes, complete lines first. One buffer is reused, because the garbage collector would need as much time for new buffers
 * as parsing needs.
 */
class LineGatherer {
  readonly #lineBytesMax: number;
  #buffer = new Uint8Array(bufferBytesMin);
  #length = 0;
  /** The number of bytes of complete lines. */
  lineBytes = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** The number of bytes of an incomplete line. */
  get restBytes(): number {
    return this.#length - this.lineBytes;
  }

  add(chunk: Uint8Array): void {
    this.#reserve(this.#length + chunk.length);
    this.#buffer.set(chunk, this.#length);
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end > 0) this.lineBytes = this.#length + end;
    this.#length += chunk.length;
    if (this.restBytes > this.#lineBytesMax) {
      throw new SluiceError('line-too-long', { detail: `more than ${this.#lineBytesMax} bytes` });
    }
  }

  take(): LineGroup {
    const bytes = this.lineBytes;
    const lines = this.#decode(bytes);
    this.#buffer.copyWithin(0, bytes, this.#length);
    this.#length -= bytes;
    this.lineBytes = 0;
    return { lines, bytes };
  }

  #decode(bytes: number): string[] {
    try {
      return decodeMarked(this.#buffer.subarray(0, bytes)).split('\n').slice(0, -1);
    } catch (cause) {
      throw new SluiceError('response-malformed', { detail: 'a line is not UTF-8', cause });
    }
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(length, 2 * this.#buffer.length));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}
