import { elementAt } from './element-at.ts';

/**
 * Computes the CRC-32 of two concatenated byte sequences from their individual CRCs: appending n bytes multiplies the
 * first CRC by x^(8n) modulo the polynomial. A chunk that thousands of responses send is therefore checksummed only
 * once. `node:zlib` has no function for this.
 */
const polynomial = 0xedb88320;
/** The polynomial 1, since the highest bit is x^0. */
const unit = 0x80000000;

export function combineCrc(first: number, second: number, secondLength: number): number {
  return (multiply(first, powerOfBytes(secondLength)) ^ second) >>> 0;
}

/** Multiplies two polynomials in reflected bit order: the highest bit is x^0. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let mask = unit; mask !== 0; mask >>>= 1) {
    if ((a & mask) !== 0) product ^= factor;
    factor = (factor & 1) !== 0 ? (factor >>> 1) ^ polynomial : factor >>> 1;
  }
  return product;
}

/** x^(8 · 2^k) for each k. */
const powers: number[] = [0x00800000];

/**
 * The most recent length and its power. Responses that send the same chunk call this one after another with the same
 * length.
 */
let last = { length: 0, power: unit };

function powerOfBytes(length: number): number {
  if (length !== last.length) last = { length, power: findPower(length) };
  return last.power;
}

function findPower(length: number): number {
  let result = unit;
  for (let rest = length, k = 0; rest > 0; rest = Math.floor(rest / 2), k++) {
    const power = powerAt(k);
    if (rest % 2 === 1) result = multiply(result, power);
  }
  return result;
}

function powerAt(k: number): number {
  while (powers.length <= k) {
    const last = elementAt(powers, -1);
    powers.push(multiply(last, last));
  }
  return elementAt(powers, k);
}
