/**
 * Key lists are coded against the highest dictionary id that this row group, or one before it, has named so far. Ids are given in order of
 * first appearance, so a new address is the small even code 2 × (distance - 1), mostly 0, and a known one is 2 × id + 1.
 */
export function encodeKeys(ids: Uint32Array, highestBefore: number): Uint32Array {
  const codes = new Uint32Array(ids.length);
  let highest = highestBefore;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as number;
    if (id > highest) {
      codes[i] = 2 * (id - highest - 1);
      highest = id;
    } else {
      codes[i] = 2 * id + 1;
    }
  }
  return codes;
}

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
