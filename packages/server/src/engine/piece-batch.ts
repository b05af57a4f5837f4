/** Pieces of text on their way from a thread: small ones are put into one batch, and taken out at the other side. */
import { assert } from '../base/assert.ts';
import { discard } from '../base/discard.ts';
import type { Coverage, DeflatedText, PartPiece, PieceBatch } from './engine-messages.ts';
import { pieceBytesMax } from './segment-run.ts';

const rowLength = 9;
/** The slot of a piece that ends in the middle of a line. */
const noSlot = -1;
const noBytes = new Uint8Array(0);

/** What is gathered is sent when it reaches this. */
const batchBytesGoal = 1 << 18;
/** Holds all that the kernel's buffer does, and a header line. A longer piece gets memory of its own. */
const roomBytes = pieceBytesMax + (1 << 12);
/** A batch that would leave more of a room unused is copied into memory that fits it. */
const fullBytesMin = 1 << 16;
/** What a thread that has one run may be ahead of its reader, and two long lines: one that is sent, one that is put together. */
const roomCount = 88;
/** Before the rooms, what each is: free, or lent until its reader stores that it is free again. */
const statesBytes = roomCount * 4;
const isFree = 0;
const isLent = 1;

/**
 * The memory in which a thread's batches go out. It is shared, not moved: what is moved to and fro both sides count as theirs to
 * collect. A room is given back without a message, so that a thread in the middle of its work finds it. When all are lent,
 * batches go out in memory that is collected.
 */
export class BatchRooms {
  /** Memory that nobody wrote to takes no room in the machine. */
  static make(): SharedArrayBuffer {
    return new SharedArrayBuffer(statesBytes + roomCount * roomBytes);
  }

  readonly #memory: SharedArrayBuffer;
  readonly #states: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#states = new Int32Array(memory, 0, roomCount);
  }

  /** The first that is free, so that as few as needed are ever used; undefined if none is. */
  lend(): number | undefined {
    for (let room = 0; room < roomCount; room++) {
      if (Atomics.compareExchange(this.#states, room, isFree, isLent) === isFree) return room;
    }
    return undefined;
  }

  giveBack(room: number): void {
    const before = Atomics.exchange(this.#states, room, isFree);
    assert(before === isLent, 'only what is lent is given back');
  }

  bytesOf(room: number): Uint8Array {
    return new Uint8Array(this.#memory, statesBytes + room * roomBytes, roomBytes);
  }
}

export class PieceBatchWriter {
  readonly #rooms: BatchRooms;
  #draft: Uint8Array | undefined;
  /** The room that the draft is in; undefined if it is none. */
  #room: number | undefined;
  #length = 0;
  #table: number[] = [];

  constructor(rooms: BatchRooms) {
    this.#rooms = rooms;
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
    const hash = coverage === undefined ? noBytes : Buffer.from(coverage.hash, 'latin1');
    const compressed = deflated?.bytes ?? noBytes;
    const length = text.length + compressed.length + header.length + hash.length;
    if (aligned(this.#length) + length > batchBytesGoal) this.#takeInto(full);
    const draft = this.#draft ?? this.#begin(length);
    const at = aligned(this.#length);
    draft.set(text, at);
    // Before the header line: as a rule one of the two texts is empty, so that the other begins on a word.
    draft.set(compressed, at + text.length);
    draft.set(header, at + text.length + compressed.length);
    draft.set(hash, at + length - hash.length);
    this.#length = at + length;
    this.#table.push(part, text.length, coverage?.slot ?? noSlot, header.length, hash.length);
    this.#table.push(coverage?.endsWithLine === true ? 1 : 0);
    this.#table.push(compressed.length, deflated?.crc ?? 0, deflated?.plainLength ?? 0);
    if (this.#length >= batchBytesGoal) this.#takeInto(full);
    return full;
  }

  /** What has been gathered, undefined if that is nothing. */
  take(): PieceBatch | undefined {
    const draft = this.#draft;
    if (draft === undefined) return undefined;
    const batch = { room: this.#lentOrMoved(draft), table: Float64Array.from(this.#table) };
    this.#draft = undefined;
    this.#length = 0;
    this.#table = [];
    return batch;
  }

  #begin(length: number): Uint8Array {
    this.#room = length > roomBytes ? undefined : this.#rooms.lend();
    this.#draft =
      this.#room === undefined
        ? Buffer.allocUnsafeSlow(Math.max(length, roomBytes))
        : this.#rooms.bytesOf(this.#room);
    return this.#draft;
  }

  #lentOrMoved(draft: Uint8Array): number | Uint8Array {
    const gathered = draft.subarray(0, this.#length);
    const room = this.#room;
    if (this.#length >= fullBytesMin) return room ?? gathered;
    if (room !== undefined) this.#rooms.giveBack(room);
    return copyOf(gathered);
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

/** The pieces of a batch; when all of them have been released its room is given back, or its memory. */
export function readBatch({ room, table }: PieceBatch, rooms: BatchRooms): PartPiece[] {
  const bytes = typeof room === 'number' ? rooms.bytesOf(room) : room;
  const pieces: PartPiece[] = [];
  let users = table.length / rowLength;
  const release = () => {
    users--;
    assert(users >= 0, 'a piece is released once');
    if (users > 0) return;
    if (typeof room === 'number') rooms.giveBack(room);
    else discard(room);
  };
  let at = 0;
  for (let row = 0; row < table.length; row += rowLength) {
    const [part, length, slot, headerLength, hashLength, endsWithLine, ...rest] = table.subarray(
      row,
      row + rowLength,
    ) as unknown as [...[number, number, number, number, number, number], number, number, number];
    const [deflatedLength, crc, plainLength] = rest;
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
            // Header lines are kept for longer than the text.
            headerLine: bytes.slice(headerAt, hashAt),
            endsWithLine: endsWithLine === 1,
          };
    const text = bytes.subarray(at, deflatedAt);
    pieces.push({ part, bytes: text, coverage, deflated, release });
    at = aligned(end);
  }
  return pieces;
}
