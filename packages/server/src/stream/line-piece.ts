import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, crc32, inflateRawSync } from 'node:zlib';
import { combineCrc } from '../base/combine-crc.ts';
import { deflateEncoder } from '../kernels/deflate-encoder.ts';

/** A part of a raw deflate stream that ends on a byte, so that parts follow each other in one stream. */
export interface DeflatedPart {
  readonly bytes: Uint8Array;
  /** Of the bytes before compression, and how many they are. */
  readonly crc: number;
  readonly plainLength: number;
}

/** Lines are compressed by so many bytes at once, which takes about a millisecond; others have their turn in between. */
const deflatedBytesMax = 1 << 18;

/**
 * Whole lines. A piece that several responses send is compressed once: an open compressor for each reader would cost 243 KB
 * each, and the same work again for each. Most pieces come compressed from the engine's threads; the rest is compressed here.
 */
export class LinePiece {
  /** Undefined where the lines are there compressed only. */
  #parts: readonly Uint8Array[] | undefined;
  #release: (() => void) | undefined;
  #deflated: Promise<readonly DeflatedPart[]> | undefined;
  #deflatedParts: readonly DeflatedPart[] | undefined;
  #joined: readonly LinePiece[] | undefined;

  constructor(...parts: readonly Uint8Array[]) {
    this.#parts = parts.filter(({ length }) => length > 0);
  }

  /** Of memory that is used for others once it is released; compressed already, in parts too, or only so. */
  static ofLent(
    parts: readonly Uint8Array[],
    { release, deflated = [] }: { release: () => void; deflated?: readonly DeflatedPart[] },
  ): LinePiece {
    const piece = new LinePiece(...parts);
    piece.#release = release;
    if (deflated.length > 0) piece.#deflatedParts = deflated;
    if (deflated.length > 0 && piece.#parts?.length === 0) piece.#parts = undefined;
    return piece;
  }

  /** Where the lines are there compressed only they are made from that, for the few who want them so. */
  get parts(): readonly Uint8Array[] {
    this.#parts ??= (this.#deflatedParts ?? []).map(inflate);
    return this.#parts;
  }

  /** Whether somebody waits for its memory. */
  get isLent(): boolean {
    return this.#release !== undefined;
  }

  /** Says that nobody reads the lines any more, compressed or not; without it they are collected some time. */
  release(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }

  /**
   * For those who hold lines for many readers: one piece, in memory of its own that nobody's release takes. The given ones are
   * released, and their lines copied once, however many they are.
   */
  static keep(pieces: readonly LinePiece[]): LinePiece {
    const [first] = pieces;
    const kept = first !== undefined && pieces.length === 1 ? first.#copy() : LinePiece.#of(pieces);
    for (const piece of pieces) piece.release();
    return kept;
  }

  /** Several short ones as one, to be written at once. Each is still compressed once for all who send it. */
  static join(pieces: readonly LinePiece[]): LinePiece {
    const [first] = pieces;
    if (first !== undefined && pieces.length === 1) return first;
    const joined = LinePiece.#of(pieces);
    if (joined.#deflatedParts === undefined) joined.#joined = pieces;
    if (pieces.some(({ isLent }) => isLent)) {
      joined.#release = () => {
        for (const piece of pieces) piece.release();
      };
    }
    return joined;
  }

  /** The lines of several, compressed only if all of them are. */
  static #of(pieces: readonly LinePiece[]): LinePiece {
    const piece = new LinePiece();
    const deflated = pieces.map(({ deflatedParts }) => deflatedParts);
    if (deflated.every((parts) => parts !== undefined)) {
      piece.#deflatedParts = [concat(deflated.flat())];
      piece.#parts = undefined;
    } else piece.#parts = [Buffer.concat(pieces.flatMap(({ parts }) => parts))];
    return piece;
  }

  /** Itself if its memory is its own. */
  #copy(): LinePiece {
    if (!this.isLent) return this;
    const copy = new LinePiece();
    copy.#parts = this.#parts?.map((part) => new Uint8Array(part));
    copy.#deflatedParts = this.#deflatedParts?.map((part) => ({
      ...part,
      bytes: new Uint8Array(part.bytes),
    }));
    return copy;
  }

  /** Of the lines, or of what there is of them. */
  get byteLength(): number {
    const deflated = this.#deflatedParts?.map(({ bytes }) => bytes) ?? [];
    return (this.#parts ?? deflated).reduce((sum, { length }) => sum + length, 0);
  }

  deflated(): Promise<readonly DeflatedPart[]> {
    this.#deflated ??= this.#deflate();
    return this.#deflated;
  }

  /** The same if it is done: thousands of responses send one piece, and waiting costs each more than sending. */
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
    bytes: Buffer.concat(parts.map(({ bytes }) => bytes)),
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
