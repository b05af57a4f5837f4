import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, crc32, inflateRawSync } from 'node:zlib';
import { combineCrc } from '@sluice/base/combine-crc';
import { joinBytes } from '@sluice/base/memory/join-bytes';
import { deflateEncoder } from '@sluice/kernels/deflate-encoder';

/** A part of a raw deflate stream that ends on a byte boundary, so that parts can be concatenated. */
export interface DeflatedPart {
  readonly bytes: Uint8Array;
  /** The checksum and the number of the uncompressed bytes. */
  readonly crc: number;
  readonly plainLength: number;
}

/** Lines are compressed in steps of this size, which take about a millisecond, so that the event loop is not blocked. */
const deflatedBytesMax = 1 << 18;

/**
 * Whole lines. A piece that several responses send is compressed once; a compressor for each response would need 243 KB and repeat
 * the work. The threads of the engine compress most pieces; the others are compressed here.
 */
export class LinePiece {
  /** Undefined if there are only the compressed bytes. */
  #parts: readonly Uint8Array[] | undefined;
  #release: (() => void) | undefined;
  #deflated: Promise<readonly DeflatedPart[]> | undefined;
  #deflatedParts: readonly DeflatedPart[] | undefined;
  #joined: readonly LinePiece[] | undefined;

  constructor(...parts: readonly Uint8Array[]) {
    this.#parts = parts.filter(({ length }) => length > 0);
  }

  /** Creates a piece in memory that is reused after its release. The lines can be given compressed, plain, or both. */
  static ofReusable(
    parts: readonly Uint8Array[],
    { release, deflated = [] }: { release: () => void; deflated?: readonly DeflatedPart[] },
  ): LinePiece {
    const piece = new LinePiece(...parts);
    piece.#release = release;
    if (deflated.length > 0) piece.#deflatedParts = deflated;
    if (deflated.length > 0 && piece.#parts?.length === 0) piece.#parts = undefined;
    return piece;
  }

  /** Returns the plain lines. They are decompressed if there are only the compressed bytes. */
  get parts(): readonly Uint8Array[] {
    this.#parts ??= (this.#deflatedParts ?? []).map(inflate);
    return this.#parts;
  }

  /** Whether the memory is reused after the release. */
  get isReusable(): boolean {
    return this.#release !== undefined;
  }

  /** Releases the memory. The piece must not be read afterwards. Without it the memory is garbage-collected. */
  release(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }

  /**
   * Copies pieces into one piece with its own memory, which a release does not reuse, so that many responses can share it. The given
   * pieces are released.
   */
  static keep(pieces: readonly LinePiece[]): LinePiece {
    const [first] = pieces;
    const kept = first !== undefined && pieces.length === 1 ? first.#copy() : LinePiece.#of(pieces);
    for (const piece of pieces) piece.release();
    return kept;
  }

  /** Joins several short pieces for one write. Each of them is still compressed only once. */
  static join(pieces: readonly LinePiece[]): LinePiece {
    const [first] = pieces;
    if (first !== undefined && pieces.length === 1) return first;
    const joined = LinePiece.#of(pieces);
    if (joined.#deflatedParts === undefined) joined.#joined = pieces;
    if (pieces.some(({ isReusable }) => isReusable)) {
      joined.#release = () => {
        for (const piece of pieces) piece.release();
      };
    }
    return joined;
  }

  /** Concatenates the lines of several pieces. The result is compressed if all of them are. */
  static #of(pieces: readonly LinePiece[]): LinePiece {
    const piece = new LinePiece();
    const deflated = pieces.map(({ deflatedParts }) => deflatedParts);
    if (deflated.every((parts) => parts !== undefined)) {
      piece.#deflatedParts = [concat(deflated.flat())];
      piece.#parts = undefined;
    } else piece.#parts = [joinBytes(pieces.flatMap(({ parts }) => parts))];
    return piece;
  }

  /** Returns the piece itself if its memory is not reused. */
  #copy(): LinePiece {
    if (!this.isReusable) return this;
    const copy = new LinePiece();
    copy.#parts = this.#parts?.map((part) => new Uint8Array(part));
    copy.#deflatedParts = this.#deflatedParts?.map((part) => ({
      ...part,
      bytes: new Uint8Array(part.bytes),
    }));
    return copy;
  }

  /** The length of the plain lines, or of the compressed bytes if there are no others. */
  get byteLength(): number {
    const deflated = this.#deflatedParts?.map(({ bytes }) => bytes) ?? [];
    return (this.#parts ?? deflated).reduce((sum, { length }) => sum + length, 0);
  }

  deflated(): Promise<readonly DeflatedPart[]> {
    this.#deflated ??= this.#deflate();
    return this.#deflated;
  }

  /** Returns the compressed bytes if they exist, without a promise: thousands of responses send the same piece. */
  get deflatedParts(): readonly DeflatedPart[] | undefined {
    return this.#deflatedParts;
  }

  async #deflate(): Promise<readonly DeflatedPart[]> {
    const joined = this.#joined;
    this.#deflatedParts ??=
      joined === undefined
        ? await deflate(this.parts)
        : [concat((await Promise.all(joined.map((piece) => piece.deflated()))).flat())];
    return this.#deflatedParts;
  }
}

function concat(parts: readonly DeflatedPart[]): DeflatedPart {
  return {
    bytes: joinBytes(parts.map(({ bytes }) => bytes)),
    crc: parts.reduce((sum, { crc, plainLength }) => combineCrc(sum, crc, plainLength), 0),
    plainLength: parts.reduce((sum, { plainLength }) => sum + plainLength, 0),
  };
}

function inflate({ bytes }: DeflatedPart): Uint8Array {
  return inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
}

async function deflate(parts: readonly Uint8Array[]): Promise<readonly DeflatedPart[]> {
  const deflated: DeflatedPart[] = [];
  for (const part of parts) {
    for (let start = 0; start < part.length; start += deflatedBytesMax) {
      if (deflated.length > 0) await nextTurn();
      const plain = part.subarray(start, start + deflatedBytesMax);
      const bytes = new Uint8Array(deflateEncoder().encode(plain));
      deflated.push({ bytes, crc: crc32(plain), plainLength: plain.length });
    }
  }
  return deflated;
}
