/**
 * Key lists of format 1 are coded against the highest dictionary id that the row group, or one before it, has named so far: a new
 * address is the even code 2 × (distance - 1), a known one is 2 × id + 1.
 */
export function decodeKeys(codes: Uint32Array, highestBefore: number): Uint32Array {
  const ids = new Uint32Array(codes.length);
  let highest = highestBefore;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number;
    if ((code & 1) === 0) {
      highest += code / 2 + 1;
      ids[i] = highest;
    } else {
      ids[i] = code >>> 1;
    }
  }
  return ids;
}
