import { assert } from '@sluice/base/assert';
import { sumInts, sumSmallInts } from './codec.ts';

/**
 * Integers as a unit stores them: a plane of bytes for each byte of the values, the lowest first. A value is put together when it is read:
 * an open segment has thousands of them, of which a lookup reads a few, and as typed arrays they would take four times the memory.
 */
export class PlaneInts {
  readonly length: number;
  readonly #planes: Uint8Array;
  readonly #planeCount: number;
  /** The distance between two planes; 0 if all values are equal, so that each plane has one byte. */
  readonly #stride: number;

  constructor(planes: Uint8Array, length: number, planeCount: number, isConstant: boolean) {
    this.length = length;
    this.#planes = planes;
    this.#planeCount = planeCount;
    this.#stride = isConstant ? 0 : length;
  }

  /** Returns a value below 2^53. */
  at(index: number): number {
    const high = this.#join(index, 4);
    return this.#join(index, 0) + (high === 0 ? 0 : high * 2 ** 32);
  }

  bigintAt(index: number): bigint {
    return (BigInt(this.#join(index, 4)) << 32n) | BigInt(this.#join(index, 0));
  }

  /** Returns the sum of the first 0, 1, … values, up to all of them. */
  sums(): Float64Array {
    return sumInts(this.#stored);
  }

  /** The same for sums below 2^32. */
  smallSums(): Uint32Array {
    return sumSmallInts(this.#stored);
  }

  get #stored() {
    const { length: count } = this;
    return { planes: this.#planes, planeCount: this.#planeCount, stride: this.#stride, count };
  }

  /** Returns 32 bits of a value. */
  #join(index: number, firstPlane: number): number {
    assert(index >= 0 && index < this.length, 'the column has the value');
    const isConstant = this.#stride === 0;
    const end = Math.min(this.#planeCount, firstPlane + 4);
    let bits = 0;
    for (let plane = firstPlane; plane < end; plane++) {
      const at = isConstant ? plane : plane * this.#stride + index;
      bits |= (this.#planes[at] as number) << (8 * (plane - firstPlane));
    }
    return bits >>> 0;
  }
}
