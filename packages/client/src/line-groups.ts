/** The body of a response as groups of whole lines, read only as fast as they are asked for. */
import { messageOf } from '@sluice/protocol/unknown-value';
import type { Clock } from './clock.ts';
import { decodeMarked } from './exact-json.ts';
import { SluiceError } from './sluice-error.ts';
import { timedOut, waitFor } from './wait-for.ts';

export interface LineLimits {
  /** A group is handed on once it has so many bytes. */
  readonly batchBytesMax: number;
  readonly lineBytesMax: number;
  /** Silence after which a response counts as stalled. */
  readonly stallMs: number;
}

export interface LineGroup {
  /** Long integers are in quotes, as `decodeMarked` writes them. */
  readonly lines: readonly string[];
  readonly bytes: number;
}

/** How long to wait for more before a group is handed on: enough to gather what is under way, too short to notice. */
const lingerMs = 4;
const lineFeed = 0x0a;

type ReadPromise = Promise<ReadableStreamReadResult<Uint8Array>>;

/**
 * Yields what arrives. Bytes after the last line feed are a line that was cut: they are dropped, and the end is an error,
 * because an empty response says something else than a cut one.
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
        // Whole lines count, however the response ended.
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
  modules: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Chunk> {
  try {
    const read = await waitFor(next, { ...modules, ms: stallMs });
    if (read !== timedOut)
      return read.done ? { kind: 'end' } : { kind: 'bytes', bytes: read.value };
    return { kind: 'failed', error: new SluiceError('stalled', { detail: `${stallMs} ms` }) };
  } catch (cause) {
    modules.signal.throwIfAborted();
    const detail = messageOf(cause);
    return { kind: 'failed', error: new SluiceError('network-failed', { detail, cause }) };
  }
}

/** Whether the promise settles at once or nearly so. */
async function isReady(next: ReadPromise, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const settled = next.then(
    () => true,
    () => true,
  );
  return (await waitFor(settled, { clock, signal, ms: lingerMs })) !== timedOut;
}

const bufferBytesMin = 65_536;

/**
 * Bytes that came, whole lines first. One buffer is used again and again: buffers for each batch would keep the garbage
 * collector busy for as long as parsing takes.
 */
class LineGatherer {
  readonly #lineBytesMax: number;
  #buffer = new Uint8Array(bufferBytesMin);
  #length = 0;
  /** Bytes of whole lines. */
  lineBytes = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** Bytes of a line whose end has not come. */
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
