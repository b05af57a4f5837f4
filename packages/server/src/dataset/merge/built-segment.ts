import { crc32 } from 'node:zlib';
import { elementAt } from '@sluice/base/element-at';
import {
  locateSignatureIndex,
  type SignatureIndexRange,
} from '../../segment/indexes/signature-index-range.ts';
import { openSegment, type SegmentBytes } from '../../segment/read/open-segment.ts';

/** A complete segment in memory, ready to be stored. */
export interface BuiltSegment {
  /** The content in order. Each part has its own buffer. */
  readonly parts: readonly Uint8Array[];
  readonly byteLength: number;
  readonly checksum: number;
  /** The hashes of its blocks, in order, as read back from the content. */
  readonly hashes: readonly string[];
  readonly signatures: SignatureIndexRange | undefined;
}

/** The content is kept in parts of this size, because growing a single buffer would need twice the memory. */
const partBytes = 4 << 20;

/** Collects the many small chunks of a segment writer in a few large buffers. */
export class SegmentBuffer implements SegmentBytes {
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
      const chunk = bytes.subarray(from, from + this.#partBytes - at);
      this.#parts.at(-1)?.set(chunk, at);
      from += chunk.length;
      this.#length += chunk.length;
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
      const part = elementAt(this.#parts, (from - at) / this.#partBytes);
      const chunk = part.subarray(at, Math.min(this.#partBytes, at + end - from));
      target.set(chunk, from - offset);
      from += chunk.length;
    }
    return Math.max(0, end - offset);
  }

  /** Returns the complete segment. Reading the headers back detects an error in how it was written. */
  finish(): BuiltSegment {
    const rest = this.#length % this.#partBytes;
    const parts = this.#parts.map((part, i) =>
      rest > 0 && i === this.#parts.length - 1 ? part.subarray(0, rest) : part,
    );
    const segment = openSegment(this);
    return {
      parts,
      byteLength: this.#length,
      checksum: parts.reduce((sum, part) => crc32(part, sum), 0),
      hashes: segment.headers.toArray().map(({ hash }) => hash),
      signatures: locateSignatureIndex(segment),
    };
  }
}
