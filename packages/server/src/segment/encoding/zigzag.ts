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
