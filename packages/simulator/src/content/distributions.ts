/**
 * The distributions of simulated content. Each is a table that is built once; a draw uses one 32-bit number. Only addition,
 * multiplication and division of IEEE doubles are used, so tables and draws are the same on every machine.
 */

import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import type { Random } from '@sluice/base/random';

/** Returns the natural logarithm, computed by a series. The result of `Math.log` may differ in the last digit between machines. */
export function portableLn(value: number): number {
  assert(value > 0 && value < Number.MAX_VALUE, 'a logarithm needs a positive finite number');
  let mantissa = value;
  let exponent = 0;
  for (; mantissa >= 2; mantissa /= 2) exponent++;
  for (; mantissa < 1; mantissa *= 2) exponent--;
  const ratio = (mantissa - 1) / (mantissa + 1);
  let power = ratio;
  let sum = 0;
  for (let i = 1; i < 60; i += 2) {
    sum += power / i;
    power *= ratio * ratio;
  }
  return 2 * sum + exponent * Math.LN2;
}

/** Returns e to the power of `value`, computed by a series for the same reason. */
export function portableExp(value: number): number {
  assert(value > -700 && value < 700, 'the exponential stays in the range of a double');
  const halvings = Math.round(value / Math.LN2);
  const rest = value - halvings * Math.LN2;
  let term = 1;
  let sum = 1;
  for (let i = 1; i < 24; i++) {
    term = (term * rest) / i;
    sum += term;
  }
  for (let i = 0; i < halvings; i++) sum *= 2;
  for (let i = 0; i > halvings; i--) sum /= 2;
  return sum;
}

/** Draws an index with the given weights, by a scan of the cumulative weights from a start that `#guide` gives. */
export class WeightedTable {
  readonly #ends: Float64Array;
  readonly #guide: Uint32Array;

  constructor(weights: readonly number[] | Float64Array) {
    assert(weights.length > 0, 'a table has entries');
    let total = 0;
    for (const weight of weights) total += weight;
    this.#ends = new Float64Array(weights.length);
    let sum = 0;
    for (const [i, weight] of weights.entries()) {
      sum += weight;
      this.#ends[i] = sum / total;
    }
    this.#ends[weights.length - 1] = 1;
    this.#guide = new Uint32Array(Math.min(4096, weights.length * 2));
    let index = 0;
    for (let i = 0; i < this.#guide.length; i++) {
      while ((this.#ends[index] as number) <= i / this.#guide.length) index++;
      this.#guide[i] = index;
    }
  }

  draw(random: Random): number {
    const unit = random.unit();
    let index = this.#guide[Math.floor(unit * this.#guide.length)] as number;
    while ((this.#ends[index] as number) <= unit) index++;
    return index;
  }
}

/** Builds a table of the ranks 0 to count - 1, in which rank r has a share proportional to (r + 1) to the power of -exponent. */
export function buildZipfTable(count: number, exponent: number): WeightedTable {
  const weights = new Float64Array(count);
  for (let rank = 0; rank < count; rank++) {
    weights[rank] = portableExp(-exponent * portableLn(rank + 1));
  }
  return new WeightedTable(weights);
}

/** Returns a function that draws one of the values by their weights. */
export function buildChoice<Value>(
  entries: readonly (readonly [value: Value, weight: number])[],
): (random: Random) => Value {
  const table = new WeightedTable(entries.map(([, weight]) => weight));
  return (random) => elementAt(entries, table.draw(random))[0];
}

/** Draws whole numbers by their quantiles, `[share below, value]` ascending from 0 to 1, with linear interpolation. */
export class Quantiles {
  readonly #shares: Float64Array;
  readonly #values: Float64Array;

  constructor(points: readonly (readonly [share: number, value: number])[]) {
    this.#shares = Float64Array.from(points, (point) => point[0]);
    this.#values = Float64Array.from(points, (point) => point[1]);
    assert(this.#shares[0] === 0 && this.#shares.at(-1) === 1, 'quantiles span from 0 to 1');
  }

  draw(random: Random): number {
    const shares = this.#shares;
    const unit = random.unit();
    let index = 1;
    while ((shares[index] as number) <= unit) index++;
    const low = this.#values[index - 1] as number;
    const lowShare = shares[index - 1] as number;
    const part = (unit - lowShare) / ((shares[index] as number) - lowShare);
    return Math.floor(low + ((this.#values[index] as number) - low) * part);
  }
}

/** Draws a lognormal count with the given mean, limited to 0…max. The normal value is the sum of twelve uniform ones minus six. */
export function drawLognormal(
  random: Random,
  shape: { readonly mean: number; readonly sigma: number; readonly max: number },
): number {
  let normal = -6;
  for (let i = 0; i < 12; i++) normal += random.unit();
  const factor = portableExp(shape.sigma * normal - (shape.sigma * shape.sigma) / 2);
  return Math.min(shape.max, Math.max(0, Math.round(shape.mean * factor)));
}
