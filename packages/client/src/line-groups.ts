/** The body of a response as groups of whole lines, read only as fast as they are asked for. */
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
    const detail = String((cause as Error | undefined)?.message ?? cause);
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

/** Bytes that came, up to the last line feed and beyond it. */
class LineGatherer {
  readonly #lineBytesMax: number;
  #whole: Uint8Array[] = [];
  /** Bytes of whole lines. */
  lineBytes = 0;
  #rest: Uint8Array[] = [];
  /** Bytes of a line whose end has not come. */
  restBytes = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  add(chunk: Uint8Array): void {
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end > 0) {
      this.#whole.push(...this.#rest, chunk.subarray(0, end));
      this.lineBytes += this.restBytes + end;
      this.#rest = [];
      this.restBytes = 0;
    }
    if (end === chunk.length) return;
    this.#rest.push(chunk.subarray(end));
    this.restBytes += chunk.length - end;
    if (this.restBytes > this.#lineBytesMax) {
      throw new SluiceError('line-too-long', { detail: `more than ${this.#lineBytesMax} bytes` });
    }
  }

  take(): LineGroup {
    const bytes = this.lineBytes;
    const joined = joinBytes(this.#whole, bytes);
    this.#whole = [];
    this.lineBytes = 0;
    try {
      const lines = decodeMarked(joined).split('\n').slice(0, -1);
      return { lines, bytes };
    } catch (cause) {
      throw new SluiceError('response-malformed', { detail: 'a line is not UTF-8', cause });
    }
  }
}

function joinBytes(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
