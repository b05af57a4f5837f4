/** Addresses that a program derives: a hash that is not a point of the curve, so that no key can sign for it. */
import { createHash } from 'node:crypto';
import { assert } from '../../base/assert.ts';

const MARK = 'ProgramDerivedAddress';
const BUMP_FIRST = 255;
const PRIME = 2n ** 255n - 19n;
const CURVE_D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** The first address that is off the curve, with the bump counted down from 255. */
export function deriveAddress(seeds: readonly Uint8Array[], program: Uint8Array): Uint8Array {
  for (let bump = BUMP_FIRST; bump >= 0; bump--) {
    const hash = createHash('sha256');
    for (const seed of seeds) hash.update(seed);
    const address = hash.update(Uint8Array.of(bump)).update(program).update(MARK).digest();
    if (!isOnCurve(address)) return address;
  }
  assert(false, 'half of all hashes are off the curve');
}

/** Whether the bytes are the y of a point: x² = (y² - 1) / (d y² + 1) has a root. A quotient has one if the product has. */
function isOnCurve(address: Uint8Array): boolean {
  const bigEndian = Buffer.from(address).reverse();
  bigEndian[0] = (bigEndian[0] as number) & 0x7f;
  const y = BigInt(`0x${bigEndian.toString('hex')}`) % PRIME;
  const y2 = (y * y) % PRIME;
  const product = ((y2 - 1n + PRIME) * (CURVE_D * y2 + 1n)) % PRIME;
  const power = raiseToHalf(product);
  return power === 0n || power === 1n;
}

/** To the power of (p - 1) / 2 = 2^254 - 10, by way of 2^250 - 1: few factors besides the squares. */
function raiseToHalf(base: bigint): bigint {
  const ones5 = repeat(base, 5);
  const ones10 = join(ones5, ones5, 5);
  const ones20 = join(ones10, ones10, 10);
  const ones40 = join(ones20, ones20, 20);
  const ones50 = join(ones40, ones10, 10);
  const ones100 = join(ones50, ones50, 50);
  const ones200 = join(ones100, ones100, 100);
  const ones250 = join(ones200, ones50, 50);
  const sixth = (base * base * base) % PRIME;
  return (square(ones250, 4) * ((sixth * sixth) % PRIME)) % PRIME;
}

/** To the power of 2^count - 1. */
function repeat(base: bigint, count: number): bigint {
  let result = base;
  for (let i = 1; i < count; i++) result = (((result * result) % PRIME) * base) % PRIME;
  return result;
}

/** Appends `count` binary ones, the power `tail` of the same base, to those of `head`. */
function join(head: bigint, tail: bigint, count: number): bigint {
  return (square(head, count) * tail) % PRIME;
}

function square(value: bigint, count: number): bigint {
  let result = value;
  for (let i = 0; i < count; i++) result = (result * result) % PRIME;
  return result;
}
