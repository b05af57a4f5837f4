/**
 * Decodes the key lists of format 1. They are relative to the highest dictionary id so far, in this row group or an earlier one: a new
 * address has the even code 2 × (difference - 1), a known one has 2 × id + 1.
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
