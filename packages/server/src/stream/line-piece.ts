import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

/** A part of a raw deflate stream that ends on a byte, so that parts follow each other in one stream. */
export interface DeflatedPiece {
  readonly bytes: Uint8Array;
  /** Of the bytes before compression. */
  readonly crc: number;
}

const deflateRawAsync = promisify(deflateRaw);

/**
 * Whole lines. A piece that several responses send is compressed once: an open compressor for each reader would cost 243 KB
 * each, and the same work again for each.
 */
export class LinePiece {
  readonly bytes: Uint8Array;
  #deflated: Promise<DeflatedPiece> | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  deflated(): Promise<DeflatedPiece> {
    this.#deflated ??= deflate(this.bytes);
    return this.#deflated;
  }
}

async function deflate(bytes: Uint8Array): Promise<DeflatedPiece> {
  const deflated = await deflateRawAsync(bytes, {
    level: 1,
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  return { bytes: deflated, crc: crc32(bytes) };
}
