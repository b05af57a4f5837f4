/**
 * Encodes pieces of lines for a response. A client can decode every piece when it arrives, and `end` completes the
 * compressed stream.
 */
import { once } from 'node:events';
import * as zlib from 'node:zlib';
import { assert, unreachable } from '@sluice/base/assert';
import { combineCrc } from '@sluice/base/combine-crc';
import type { DeflatedPart, LinePiece } from '../../stream/line-piece.ts';
import type { Encoding } from '../negotiate-encoding.ts';

export interface LineEncoder {
  /** Returns whether `encode` returns its result without a promise. */
  isReady(piece: LinePiece): boolean;
  encode(piece: LinePiece): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  end(): Promise<Uint8Array>;
}

const nothing = new Uint8Array(0);

export function createLineEncoder(encoding: Encoding): LineEncoder {
  switch (encoding) {
    case 'gzip':
      return new GzipEncoder();
    case 'zstd':
      return createZstdEncoder();
    case 'identity':
      return {
        isReady: () => true,
        encode: (piece) => piece.parts,
        end: () => Promise.resolve(nothing),
      };
    default:
      return unreachable(encoding);
  }
}

/** A gzip header without a file name, a time or flags. */
const gzipHeader = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);

/** Joins pieces that were compressed separately into one gzip member. Adds the header, the last block and the checksum. */
class GzipEncoder implements LineEncoder {
  #crc = 0;
  #byteCount = 0;
  #isStarted = false;

  isReady({ deflatedParts }: LinePiece): boolean {
    return deflatedParts !== undefined;
  }

  encode(piece: LinePiece): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    const { deflatedParts } = piece;
    if (deflatedParts !== undefined) return this.#append(deflatedParts);
    return piece.deflated().then((parts) => this.#append(parts));
  }

  #append(parts: readonly DeflatedPart[]): readonly Uint8Array[] {
    for (const { crc, plainLength } of parts) {
      this.#crc = combineCrc(this.#crc, crc, plainLength);
      this.#byteCount += plainLength;
    }
    return this.#started(parts.map(({ bytes }) => bytes));
  }

  end(): Promise<Uint8Array> {
    const tail = new Uint8Array(10);
    // An empty final block with fixed Huffman codes.
    tail[0] = 3;
    const view = new DataView(tail.buffer);
    view.setUint32(2, this.#crc, true);
    view.setUint32(6, this.#byteCount % 2 ** 32, true);
    return Promise.resolve(Buffer.concat(this.#started([tail])));
  }

  #started(parts: readonly Uint8Array[]): readonly Uint8Array[] {
    const [first, ...rest] = parts;
    if (this.#isStarted || first === undefined) return parts;
    this.#isStarted = true;
    return [Buffer.concat([gzipHeader, first]), ...rest];
  }
}

type Compressor = zlib.Gzip;

/** Only newer runtimes have zstd. The types of the oldest supported one do not declare it. */
function createZstdEncoder(): LineEncoder {
  const create = (zlib as { createZstdCompress?: () => Compressor }).createZstdCompress;
  assert(create !== undefined, 'zstd is offered only where the runtime has it');
  const compressor = create();
  const output: Uint8Array[] = [];
  compressor.on('data', (bytes: Uint8Array) => output.push(bytes));
  const take = () => Buffer.concat(output.splice(0));
  return {
    isReady: () => false,
    encode: async (piece) => {
      if (piece.parts.length === 0) return [];
      for (const part of piece.parts) compressor.write(part);
      await new Promise<void>((resolve) => compressor.flush(() => resolve()));
      return [take()];
    },
    end: async () => {
      compressor.end();
      await once(compressor, 'end');
      return take();
    },
  };
}
