import type { FileHandle } from 'node:fs/promises';
import { copyBytes } from '@sluice/base/memory/copy-bytes';

/** Reads bytes into a buffer. Returns how many, and 0 at the end. */
export type ReadInto = (target: Uint8Array) => Promise<number>;

/** Large enough for several blocks, and small compared with the memory of the blocks that are processed. */
const windowBytesMin = 8 * 1024 * 1024;
/** One read. Smaller ones would cost more time than they save memory. */
const readBytesMin = 1024 * 1024;

/** The bytes of a stream from a position on. The memory is reused, so that reading a file leaves nothing to the garbage collector. */
export class ByteWindow {
  readonly #read: ReadInto;
  readonly #readBytesMin: number;
  bytes: Uint8Array;
  /** The first byte that is kept, the next byte to read, and the end of the bytes in the window. */
  start = 0;
  at = 0;
  end = 0;
  /** The offset of the first byte of the window in the stream. */
  #offset = 0;

  /** A smaller window suits a reader that gets most bytes by `take`. */
  constructor(read: ReadInto, windowBytes = windowBytesMin) {
    this.#read = read;
    this.#readBytesMin = Math.min(readBytesMin, windowBytes / 2);
    this.bytes = new Uint8Array(windowBytes);
  }

  /** The offset of the next byte in the stream. */
  get offset(): number {
    return this.#offset + this.at;
  }

  /** Drops the bytes before the next one. */
  keepFromHere(): void {
    this.start = this.at;
  }

  /** Reads until `count` bytes are available at the next one. Returns false if the stream ends before. May move the bytes. */
  async fill(count: number): Promise<boolean> {
    while (this.end - this.at < count) {
      const missing = count - (this.end - this.at);
      const least = Math.max(missing, this.#readBytesMin);
      if (this.bytes.length - this.end < least) this.#makeSpace(least);
      const length = await this.#read(this.bytes.subarray(this.end));
      if (length === 0) return false;
      this.end += length;
    }
    return true;
  }

  /**
   * Drops the next bytes after it has written them to `target`: those that are in the window are copied, all others are read into it. Returns
   * false if the stream ends before.
   */
  async take(target: Uint8Array): Promise<boolean> {
    const known = this.bytes.subarray(this.at, Math.min(this.end, this.at + target.length));
    copyBytes(target, 0, known);
    this.at += known.length;
    this.keepFromHere();
    for (let at = known.length; at < target.length; ) {
      const length = await this.#read(target.subarray(at));
      if (length === 0) return false;
      at += length;
      this.#offset += length;
    }
    return true;
  }

  /** Moves the kept bytes to the start of the window, which grows if they need it. */
  #makeSpace(least: number): void {
    const { start } = this;
    const kept = this.bytes.subarray(start, this.end);
    const size = kept.length + least;
    if (size > this.bytes.length) {
      const grown = new Uint8Array(Math.max(size, this.bytes.length * 2));
      copyBytes(grown, 0, kept);
      this.bytes = grown;
    } else {
      this.bytes.copyWithin(0, start, this.end);
    }
    this.#offset += start;
    this.start = 0;
    this.at -= start;
    this.end -= start;
  }
}

/** Reads a file from an offset on, directly into the buffers of the caller. */
export function fileReader(
  file: FileHandle,
  offset: number,
  onRead: ((byteCount: number) => void) | undefined,
): ReadInto {
  let position = offset;
  return async (target) => {
    const { bytesRead } = await file.read(target, 0, target.length, position);
    position += bytesRead;
    onRead?.(bytesRead);
    return bytesRead;
  };
}

/** Copies the chunks of a stream into the buffers of the caller. */
export function chunkReader(chunks: AsyncIterable<Uint8Array>): ReadInto {
  const iterator = chunks[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  return async (target) => {
    while (rest.length === 0) {
      const { done, value } = await iterator.next();
      if (done === true) return 0;
      rest = value;
    }
    const part = rest.subarray(0, target.length);
    copyBytes(target, 0, part);
    rest = rest.subarray(part.length);
    return part.length;
  };
}
