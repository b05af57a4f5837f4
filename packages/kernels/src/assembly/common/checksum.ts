// Checksums of the chunks of a segment: the lower half of XXH64 with seed 0, which is several times faster here than CRC-32.

const P1: u64 = 0x9e3779b185ebca87;
const P2: u64 = 0xc2b2ae3d27d4eb4f;
const P3: u64 = 0x165667b19e3779f9;
const P4: u64 = 0x85ebca77c2b2ae63;
const P5: u64 = 0x27d4eb2f165667c5;

// @ts-ignore: decorator
@inline
function round(sum: u64, word: u64): u64 {
  return rotl(sum + word * P2, 31) * P1;
}

// @ts-ignore: decorator
@inline
function merge(hash: u64, sum: u64): u64 {
  return (hash ^ round(0, sum)) * P1 + P4;
}

export function checksum(bytes: usize, length: u32): u32 {
  const end = bytes + length;
  let hash: u64;
  if (length >= 32) {
    let a: u64 = P1 + P2;
    let b: u64 = P2;
    let c: u64 = 0;
    let d: u64 = 0 - P1;
    for (; bytes + 32 <= end; bytes += 32) {
      a = round(a, load<u64>(bytes));
      b = round(b, load<u64>(bytes, 8));
      c = round(c, load<u64>(bytes, 16));
      d = round(d, load<u64>(bytes, 24));
    }
    hash = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  } else hash = P5;
  hash += length;
  for (; bytes + 8 <= end; bytes += 8) hash = rotl(hash ^ round(0, load<u64>(bytes)), 27) * P1 + P4;
  if (bytes + 4 <= end) {
    hash = rotl(hash ^ (<u64>load<u32>(bytes) * P1), 23) * P2 + P3;
    bytes += 4;
  }
  for (; bytes < end; bytes++) hash = rotl(hash ^ (<u64>load<u8>(bytes) * P5), 11) * P1;
  hash = (hash ^ (hash >> 33)) * P2;
  hash = (hash ^ (hash >> 29)) * P3;
  return <u32>(hash ^ (hash >> 32));
}

/** Writes the checksum of each chunk of `chunkBytes`. The last chunk may be shorter. */
export function checksumChunks(bytes: usize, length: u32, chunkBytes: u32, out: usize): void {
  for (let at: u32 = 0; at < length; at += chunkBytes, out += 4) store<u32>(out, checksum(bytes + at, min(chunkBytes, length - at)));
}

/** Compares chunks with their checksums. Returns the number of the first one that differs, or -1. */
export function findDamagedChunk(bytes: usize, length: u32, chunkBytes: u32, expected: usize): i32 {
  let chunk: i32 = 0;
  for (let at: u32 = 0; at < length; at += chunkBytes, chunk++) {
    if (checksum(bytes + at, min(chunkBytes, length - at)) != load<u32>(expected + (<usize>chunk << 2))) return chunk;
  }
  return -1;
}
