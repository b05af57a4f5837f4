/** The curve of the ledger's keys. Addresses that programs derive are not points of it, so that no key can sign for them. */

const PRIME = 2n ** 255n - 19n;
const CURVE_D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/**
 * Returns whether the bytes are the y coordinate of a point of the curve, i.e. whether x² = (y² - 1) / (d y² + 1) has a solution. A
 * quotient is a square if and only if the product is.
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  const bigEndian = Buffer.from(bytes).reverse();
  bigEndian[0] = bigEndian.readUInt8(0) & 0x7f;
  const y = BigInt(`0x${bigEndian.toString('hex')}`) % PRIME;
  const y2 = (y * y) % PRIME;
  return isSquare(((y2 - 1n + PRIME) * (CURVE_D * y2 + 1n)) % PRIME);
}

/** Returns whether a number has a root modulo the prime, by the law of quadratic reciprocity (the Jacobi symbol is not -1). */
function isSquare(value: bigint): boolean {
  let [upper, lower, isPositive] = [value, PRIME, true];
  while (upper !== 0n) {
    const rest = lower & 7n;
    for (; (upper & 1n) === 0n; upper >>= 1n) {
      if (rest === 3n || rest === 5n) isPositive = !isPositive;
    }
    if ((upper & 3n) === 3n && (rest & 3n) === 3n) isPositive = !isPositive;
    [upper, lower] = [lower % upper, upper];
  }
  return isPositive;
}
