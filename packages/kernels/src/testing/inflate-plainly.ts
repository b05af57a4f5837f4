/**
 * A simple decoder of raw deflate, written after RFC 1951 and stricter than most decoders: codes must be complete, and a match may not
 * reach beyond the window or the start. It reports which block types, match lengths and distances occurred.
 */
import { assert } from '@sluice/base/assert';

const windowBytes = 32_768;
const headerOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const endSymbol = 256;

export type BlockType = 'stored' | 'fixed' | 'dynamic';

export interface Inflated {
  readonly text: Uint8Array;
  readonly types: readonly BlockType[];
  readonly lengths: ReadonlySet<number>;
  readonly distances: ReadonlySet<number>;
}

class BitReader {
  #at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length * 8;
  }

  bits(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++, this.#at++) {
      const byte = this.#bytes[this.#at >> 3];
      assert(byte !== undefined, 'the stream does not end within a block');
      value |= ((byte >> (this.#at & 7)) & 1) << i;
    }
    return value;
  }

  skipToByte(): void {
    while (this.#at % 8 !== 0) assert(this.bits(1) === 0, 'the padding bits of a byte are zero');
  }
}

type Decode = (reader: BitReader) => number;

function decoderOf(lengths: readonly number[], isComplete = true): Decode {
  const symbols = new Map<string, number>();
  const used = lengths
    .map((length, symbol) => ({ length, symbol }))
    .filter((one) => one.length > 0);
  used.sort((a, b) => a.length - b.length || a.symbol - b.symbol);
  let code = 0;
  let before = 0;
  for (const { length, symbol } of used) {
    code <<= length - before;
    before = length;
    symbols.set(code.toString(2).padStart(length, '0'), symbol);
    code++;
  }
  const isWhole = code === 2 ** before;
  assert(isWhole || !isComplete, 'a code is complete');
  return (reader) => {
    let text = '';
    while (!symbols.has(text)) {
      text += String(reader.bits(1));
      assert(text.length < 16, 'every code has a symbol');
    }
    return symbols.get(text) as number;
  };
}

/** The values of a symbol start at the base and are extended by the extra bits. */
function rangesOf(first: number, count: number, step: number): { base: number; extra: number }[] {
  let base = first;
  return Array.from({ length: count }, (_, symbol) => {
    const extra = Math.max(0, Math.floor(symbol / step) - 1);
    const range = { base, extra };
    base += 2 ** extra;
    return range;
  });
}

const lengthRanges = [...rangesOf(3, 28, 4), { base: 258, extra: 0 }];
const distanceRanges = rangesOf(1, 30, 2);

const fixedCodes = [
  decoderOf(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8))),
  decoderOf(Array(30).fill(5), false),
] as const;

function readCodes(reader: BitReader): readonly [Decode, Decode] {
  const symbolCount = reader.bits(5) + 257;
  const distanceCount = reader.bits(5) + 1;
  assert(symbolCount <= 286 && distanceCount <= 30, 'no symbols beyond the alphabets');
  const headerLengths: number[] = Array(19).fill(0);
  for (const symbol of headerOrder.slice(0, reader.bits(4) + 4))
    headerLengths[symbol] = reader.bits(3);
  const decode = decoderOf(headerLengths);
  const lengths: number[] = [];
  while (lengths.length < symbolCount + distanceCount) {
    const symbol = decode(reader);
    if (symbol < 16) lengths.push(symbol);
    else if (symbol === 16) lengths.push(...Array(reader.bits(2) + 3).fill(lengths.at(-1)));
    else lengths.push(...Array(symbol === 17 ? reader.bits(3) + 3 : reader.bits(7) + 11).fill(0));
  }
  assert(lengths.length === symbolCount + distanceCount, 'the runs end with the alphabets');
  assert((lengths[endSymbol] ?? 0) > 0, 'the end of the block has a code');
  return [decoderOf(lengths.slice(0, symbolCount)), decoderOf(lengths.slice(symbolCount))];
}

/** Reads blocks up to the end of the bytes, whether or not one is marked as the last. */
export function inflatePlainly(bytes: Uint8Array): Inflated {
  const reader = new BitReader(bytes);
  const text: number[] = [];
  const types: BlockType[] = [];
  const lengths = new Set<number>();
  const distances = new Set<number>();
  const readMatch = (symbol: number, decodeDistance: Decode) => {
    const range = lengthRanges[symbol - endSymbol - 1];
    assert(range !== undefined, 'a length has a symbol of the alphabet');
    const length = range.base + reader.bits(range.extra);
    const distanceRange = distanceRanges[decodeDistance(reader)];
    assert(distanceRange !== undefined, 'a distance has a symbol of the alphabet');
    const distance = distanceRange.base + reader.bits(distanceRange.extra);
    assert(distance <= windowBytes && distance <= text.length, 'a match is within the window');
    for (let i = 0; i < length; i++) text.push(text[text.length - distance] as number);
    lengths.add(length);
    distances.add(distance);
  };
  while (!reader.isAtEnd) {
    reader.bits(1);
    const type = (['stored', 'fixed', 'dynamic'] as const)[reader.bits(2)];
    assert(type !== undefined, 'a block has a known type');
    types.push(type);
    if (type === 'stored') {
      reader.skipToByte();
      const length = reader.bits(16);
      assert(reader.bits(16) === (length ^ 0xffff), 'the length is followed by its complement');
      for (let i = 0; i < length; i++) text.push(reader.bits(8));
      continue;
    }
    const [decode, decodeDistance] = type === 'fixed' ? fixedCodes : readCodes(reader);
    for (let symbol = decode(reader); symbol !== endSymbol; symbol = decode(reader)) {
      if (symbol < endSymbol) text.push(symbol);
      else readMatch(symbol, decodeDistance);
    }
  }
  return { text: Uint8Array.from(text), types, lengths, distances };
}
