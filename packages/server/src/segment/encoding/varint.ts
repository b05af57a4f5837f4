/** Numbers of up to 32 bits: 7 bits per byte, lowest first, the highest bit set in all bytes except the last. */
import { damaged } from './unit.ts';

export class VarintWriter {
  #bytes = new Uint8Array(1_024);
  #length = 0;

  write(value: number): void {
    if (this.#length + 5 > this.#bytes.length) {
      const bytes = new Uint8Array(this.#bytes.length * 2);
      bytes.set(this.#bytes);
      this.#bytes = bytes;
    }
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#length++] = rest;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** Returns all numbers in the bytes. There must be exactly `count`. */
export function readVarints(bytes: Uint8Array, count: number, name: string): Uint32Array {
  const values = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++] as number;
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80 && shift < 32; shift += 7) {
      byte = bytes[at++] as number;
      value |= (byte & 0x7f) << shift;
    }
    values[i] = value;
  }
  if (at !== bytes.length) throw damaged(name, 'it does not hold a length for each page');
  return values;
}

const mask64 = 0xffff_ffff_ffff_ffffn;

/** Encodes a difference modulo 2^64 so that small differences of either sign give small numbers. */
export function zigzag(difference: bigint): bigint {
  const signed = BigInt.asIntN(64, difference);
  return signed < 0n ? ((-signed << 1n) - 1n) & mask64 : (signed << 1n) & mask64;
}

/** The inverse of `zigzag`, as a 64-bit two's complement value. */
export function unzigzag(folded: bigint): bigint {
  return (folded & 1n) === 0n ? folded >> 1n : BigInt.asUintN(64, -((folded >> 1n) + 1n));
}
