/** Pieces of text on their way from a thread: small ones are put into one batch, and taken out at the other side. */
import { assert } from '../base/assert.ts';
import type { Coverage, DeflatedText, PartPiece, PieceBatch } from './engine-messages.ts';
import { pieceBytesMax } from './segment-run.ts';

const rowLength = 7;
/** The slot of a piece that ends in the middle of a line. */
const noSlot = -1;
const noBytes = new Uint8Array(0);

/** What is gathered is sent when it reaches this. */
export const batchBytesGoal = 1 << 18;
/** Holds all that the kernel's buffer does, and a header line. A longer piece gets a buffer of its own. */
const bufferBytes = pieceBytesMax + (1 << 12);
/** A batch that would leave more of a buffer unused is copied into one that fits it. */
const fullBytesMin = 1 << 16;
/** What a thread that has one run may be ahead of its reader, and some. */
const sharedCountMax = 40;

/**
 * A thread's buffers for batches, used again when their readers gave them back. They are shared, not moved: what is moved to and
 * fro both sides count as theirs to collect. There are so many; past that, and in place of those that never come back, batches
 * go out in memory that is collected.
 */
export class BatchBuffers {
  readonly #spare: Uint8Array[] = [];
  #sharedCount = 0;

  take(): Uint8Array {
    const spare = this.#spare.pop();
    if (spare !== undefined) return spare;
    if (this.#sharedCount === sharedCountMax) return Buffer.allocUnsafeSlow(bufferBytes);
    this.#sharedCount++;
    return new Uint8Array(new SharedArrayBuffer(bufferBytes));
  }

  put(buffer: ArrayBufferLike): void {
    if (buffer instanceof SharedArrayBuffer) this.#spare.push(new Uint8Array(buffer));
  }
}

export class PieceBatchWriter {
  readonly #buffers: BatchBuffers;
  #draft: Uint8Array | undefined;
  #length = 0;
  #table: number[] = [];

  constructor(buffers: BatchBuffers) {
    this.#buffers = buffers;
  }

  /** Copies a piece in. Answers the batches that are full by that, in order. */
  add(
    part: number,
    text: Uint8Array,
    coverage: Coverage | undefined,
    deflated?: DeflatedText,
  ): PieceBatch[] {
    const full: PieceBatch[] = [];
    const header = coverage?.headerLine ?? noBytes;
    const compressed = deflated?.bytes ?? noBytes;
    const length = text.length + header.length + compressed.length;
    if (aligned(this.#length) + length > batchBytesGoal) this.#takeInto(full);
    this.#draft ??= length > bufferBytes ? Buffer.allocUnsafeSlow(length) : this.#buffers.take();
    const at = aligned(this.#length);
    this.#draft.set(text, at);
    this.#draft.set(header, at + text.length);
    this.#draft.set(compressed, at + text.length + header.length);
    this.#length = at + length;
    this.#table.push(part, text.length, coverage?.slot ?? noSlot, header.length);
    this.#table.push(coverage?.endsWithLine === true ? 1 : 0);
    this.#table.push(compressed.length, deflated?.crc ?? 0);
    if (this.#length >= batchBytesGoal) this.#takeInto(full);
    return full;
  }

  /** What has been gathered, undefined if that is nothing. */
  take(): PieceBatch | undefined {
    const draft = this.#draft;
    if (draft === undefined) return undefined;
    const gathered = draft.subarray(0, this.#length);
    const bytes = this.#length < fullBytesMin ? copyOf(gathered) : gathered;
    if (bytes !== gathered) this.#buffers.put(draft.buffer);
    const table = Float64Array.from(this.#table);
    this.#draft = undefined;
    this.#length = 0;
    this.#table = [];
    return { bytes, table };
  }

  #takeInto(batches: PieceBatch[]): void {
    const batch = this.take();
    if (batch !== undefined) batches.push(batch);
  }
}

/** Where a piece may begin: into shared memory a runtime copies words only to where words are, and else byte by byte. */
function aligned(length: number): number {
  return Math.ceil(length / 8) * 8;
}

function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** The pieces of a batch; when all of them have been released its buffer is given back. */
export function readBatch(
  { bytes, table }: PieceBatch,
  giveBack: (buffer: SharedArrayBuffer) => void,
): PartPiece[] {
  const pieces: PartPiece[] = [];
  let users = table.length / rowLength;
  const release = () => {
    users--;
    assert(users >= 0, 'a piece is released once');
    if (users === 0 && bytes.buffer instanceof SharedArrayBuffer) giveBack(bytes.buffer);
  };
  let at = 0;
  for (let row = 0; row < table.length; row += rowLength) {
    const [part, length, slot, headerLength, endsWithLine, deflatedLength, crc] = table.subarray(
      row,
      row + rowLength,
    ) as unknown as readonly [number, number, number, number, number, number, number];
    const headerAt = at + length;
    const deflatedAt = headerAt + headerLength;
    const end = deflatedAt + deflatedLength;
    // Header lines and what is compressed are kept for longer than the text.
    const headerLine = bytes.slice(headerAt, deflatedAt);
    const deflated =
      deflatedLength === 0 ? undefined : { bytes: bytes.slice(deflatedAt, end), crc };
    const coverage =
      slot === noSlot ? undefined : { slot, headerLine, endsWithLine: endsWithLine === 1 };
    const text = bytes.subarray(at, headerAt);
    pieces.push({ part, bytes: text, coverage, deflated, release });
    at = aligned(end);
  }
  return pieces;
}
