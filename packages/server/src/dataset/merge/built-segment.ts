import { crc32 } from 'node:zlib';
import { openSegment, type SegmentBytes } from '../segment/open-segment.ts';

/** A segment that is to be stored, with what must be known of it first. */
export interface MadeSegment {
  /** Its bytes, one part after another; each has a buffer of its own. */
  readonly parts: readonly Uint8Array[];
  readonly byteLength: number;
  readonly checksum: number;
  /** Of its blocks, in order, as they were read back. */
  readonly hashes: readonly string[];
}

/** One buffer for all of a segment would be as long again as its parts while it is made. */
const partBytes = 4 << 20;

/** Puts the many pieces that a segment is written in into a few parts. */
export class SegmentParts implements SegmentBytes {
  readonly #partBytes: number;
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  constructor(options: { readonly partBytes?: number } = {}) {
    this.#partBytes = options.partBytes ?? partBytes;
  }

  get length(): number {
    return this.#length;
  }

  append(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const at = this.#length % this.#partBytes;
      if (at === 0)
        this.#parts.push(new Uint8Array(Buffer.allocUnsafeSlow(this.#partBytes).buffer));
      const piece = bytes.subarray(from, from + this.#partBytes - at);
      this.#parts.at(-1)?.set(piece, at);
      from += piece.length;
      this.#length += piece.length;
    }
  }

  read(offset: number, length: number): Uint8Array {
    const target = new Uint8Array(Math.max(0, Math.min(length, this.#length - offset)));
    this.readInto(offset, target);
    return target;
  }

  readInto(offset: number, target: Uint8Array): number {
    const end = Math.min(offset + target.length, this.#length);
    for (let from = offset; from < end; ) {
      const at = from % this.#partBytes;
      const part = this.#parts[(from - at) / this.#partBytes] as Uint8Array;
      const piece = part.subarray(at, Math.min(this.#partBytes, at + end - from));
      target.set(piece, from - offset);
      from += piece.length;
    }
    return Math.max(0, end - offset);
  }

  /** The whole of it. Reading it back is what would show a fault in how it was made. */
  finish(): MadeSegment {
    const rest = this.#length % this.#partBytes;
    const parts = this.#parts.map((part, i) =>
      rest > 0 && i === this.#parts.length - 1 ? part.subarray(0, rest) : part,
    );
    return {
      parts,
      byteLength: this.#length,
      checksum: parts.reduce((sum, part) => crc32(part, sum), 0),
      hashes: openSegment(this).headers.map(({ hash }) => hash),
    };
  }
}
