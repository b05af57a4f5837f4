/** Sends pieces of text from an engine thread to the main thread. Small pieces are sent together in a batch. */
import { assert } from '@sluice/base/assert';
import { discard } from '@sluice/base/memory/discard';
import { pieceBytesMax } from '../batch-writer.ts';
import type { Coverage, DeflatedText, PartPiece, PieceBatch } from './engine-messages.ts';

const rowLength = 10;
type RestOfRow = [number, number, number, number];
/** The slot of a piece that ends in the middle of a line. */
const noSlot = -1;
const noBytes = new Uint8Array(0);

/** A batch is sent when it reaches this size. */
const batchBytesGoal = 1 << 18;
/** A buffer has space for everything in the kernel's output buffer and a header line. A longer piece gets memory of its own. */
const bufferBytes = pieceBytesMax + (1 << 12);
/** A smaller batch is copied into memory of its own size, so that it does not occupy a buffer. */
const fullBytesMin = 1 << 16;
/** Enough for what one run may be ahead of its reader, and for two long lines: one in transit and one being assembled. */
const bufferCount = 88;
/** The memory begins with the state of each buffer: free, or in use until its reader marks it as free. */
const statesBytes = bufferCount * 4;
const isFree = 0;
const isInUse = 1;

/**
 * The buffers in which a thread sends its batches. The memory is shared, because transferred memory would burden the garbage collector of
 * both threads. The reader releases a buffer without a message, so that a busy thread can use it at once. When all buffers are in use,
 * batches are sent in ordinary memory.
 */
export class BatchBuffers {
  /** The operating system provides memory only when it is written to, so unused buffers cost nothing. */
  static make(): SharedArrayBuffer {
    return new SharedArrayBuffer(statesBytes + bufferCount * bufferBytes);
  }

  readonly #memory: SharedArrayBuffer;
  readonly #states: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#states = new Int32Array(memory, 0, bufferCount);
  }

  /** Returns the first free buffer, so that as few as possible are ever used, or undefined if all are in use. */
  acquire(): number | undefined {
    for (let buffer = 0; buffer < bufferCount; buffer++) {
      if (Atomics.compareExchange(this.#states, buffer, isFree, isInUse) === isFree) return buffer;
    }
    return undefined;
  }

  release(buffer: number): void {
    const before = Atomics.exchange(this.#states, buffer, isFree);
    assert(before === isInUse, 'only a buffer in use is released');
  }

  bytesOf(buffer: number): Uint8Array {
    return new Uint8Array(this.#memory, statesBytes + buffer * bufferBytes, bufferBytes);
  }
}

export class PieceBatchWriter {
  readonly #buffers: BatchBuffers;
  #draft: Uint8Array | undefined;
  /** The buffer that the draft is in, or undefined if it has memory of its own. */
  #buffer: number | undefined;
  #length = 0;
  #table: number[] = [];

  constructor(buffers: BatchBuffers) {
    this.#buffers = buffers;
  }

  /** Copies a piece into the draft. Returns the batches that are full, in order. */
  add(
    part: number,
    text: Uint8Array,
    coverage: Coverage | undefined,
    deflated?: DeflatedText,
  ): PieceBatch[] {
    const full: PieceBatch[] = [];
    const header = coverage?.headerLine ?? noBytes;
    const hash = coverage === undefined ? noBytes : Buffer.from(coverage.hash, 'latin1');
    const compressed = deflated?.bytes ?? noBytes;
    const length = text.length + compressed.length + header.length + hash.length;
    if (aligned(this.#length) + length > batchBytesGoal) this.#takeInto(full);
    const draft = this.#draft ?? this.#begin(length);
    const at = aligned(this.#length);
    draft.set(text, at);
    // Usually `text` or `compressed` is empty, so the other begins at an aligned address.
    draft.set(compressed, at + text.length);
    draft.set(header, at + text.length + compressed.length);
    draft.set(hash, at + length - hash.length);
    this.#length = at + length;
    this.#table.push(part, text.length, coverage?.slot ?? noSlot, header.length, hash.length);
    this.#table.push(coverage?.endsWithLine === true ? 1 : 0, coverage?.candidateShare ?? 0);
    this.#table.push(compressed.length, deflated?.crc ?? 0, deflated?.plainLength ?? 0);
    if (this.#length >= batchBytesGoal) this.#takeInto(full);
    return full;
  }

  /** Returns the draft as a batch, or undefined if it is empty. */
  take(): PieceBatch | undefined {
    const draft = this.#draft;
    if (draft === undefined) return undefined;
    const batch = { buffer: this.#bufferOrCopy(draft), table: Float64Array.from(this.#table) };
    this.#draft = undefined;
    this.#length = 0;
    this.#table = [];
    return batch;
  }

  #begin(length: number): Uint8Array {
    this.#buffer = length > bufferBytes ? undefined : this.#buffers.acquire();
    this.#draft =
      this.#buffer === undefined
        ? Buffer.allocUnsafeSlow(Math.max(length, bufferBytes))
        : this.#buffers.bytesOf(this.#buffer);
    return this.#draft;
  }

  #bufferOrCopy(draft: Uint8Array): number | Uint8Array {
    const written = draft.subarray(0, this.#length);
    const buffer = this.#buffer;
    if (this.#length >= fullBytesMin) return buffer ?? written;
    if (buffer !== undefined) this.#buffers.release(buffer);
    return copyOf(written);
  }

  #takeInto(batches: PieceBatch[]): void {
    const batch = this.take();
    if (batch !== undefined) batches.push(batch);
  }
}

/** Returns where the next piece may begin. V8 copies to an aligned address in shared memory by words, to any other byte by byte. */
function aligned(length: number): number {
  return Math.ceil(length / 8) * 8;
}

function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Returns the pieces of a batch. The memory of the batch is released when all pieces were released. */
export function readBatch({ buffer, table }: PieceBatch, buffers: BatchBuffers): PartPiece[] {
  const bytes = typeof buffer === 'number' ? buffers.bytesOf(buffer) : buffer;
  const pieces: PartPiece[] = [];
  let users = table.length / rowLength;
  const release = () => {
    users--;
    assert(users >= 0, 'a piece is released once');
    if (users > 0) return;
    if (typeof buffer === 'number') buffers.release(buffer);
    else discard(buffer);
  };
  let at = 0;
  for (let row = 0; row < table.length; row += rowLength) {
    const [part, length, slot, headerLength, hashLength, endsWithLine, ...rest] = table.subarray(
      row,
      row + rowLength,
    ) as unknown as [number, number, number, number, number, number, ...RestOfRow];
    const [candidateShare, deflatedLength, crc, plainLength] = rest;
    const deflatedAt = at + length;
    const headerAt = deflatedAt + deflatedLength;
    const hashAt = headerAt + headerLength;
    const end = hashAt + hashLength;
    const deflated =
      deflatedLength === 0
        ? undefined
        : { bytes: bytes.subarray(deflatedAt, headerAt), crc, plainLength };
    const coverage =
      slot === noSlot
        ? undefined
        : {
            slot,
            hash: Buffer.from(bytes.subarray(hashAt, end)).toString('latin1'),
            // The header line is copied, because it is kept longer than the text.
            headerLine: bytes.slice(headerAt, hashAt),
            endsWithLine: endsWithLine === 1,
            candidateShare,
          };
    const text = bytes.subarray(at, deflatedAt);
    pieces.push({ part, bytes: text, coverage, deflated, release });
    at = aligned(end);
  }
  return pieces;
}
