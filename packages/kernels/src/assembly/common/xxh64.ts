// The hash XXH64 with seed 0. Zstandard stores its low half as checksum.

const prime1: u64 = 0x9e3779b185ebca87;
const prime2: u64 = 0xc2b2ae3d27d4eb4f;
const prime3: u64 = 0x165667b19e3779f9;
const prime4: u64 = 0x85ebca77c2b2ae63;
const prime5: u64 = 0x27d4eb2f165667c5;

// @ts-ignore: decorator
@inline
function round(sum: u64, word: u64): u64 {
  return rotl(sum + word * prime2, 31) * prime1;
}

// @ts-ignore: decorator
@inline
function mergeRound(sum: u64, lane: u64): u64 {
  return (sum ^ round(0, lane)) * prime1 + prime4;
}

export function xxh64(bytes: usize, length: u32): u64 {
  const end = bytes + length;
  let at = bytes;
  let sum: u64 = prime5;
  if (length >= 32) {
    let a: u64 = prime1 + prime2;
    let b: u64 = prime2;
    let c: u64 = 0;
    let d: u64 = 0 - prime1;
    for (; at + 32 <= end; at += 32) {
      a = round(a, load<u64>(at));
      b = round(b, load<u64>(at, 8));
      c = round(c, load<u64>(at, 16));
      d = round(d, load<u64>(at, 24));
    }
    sum = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
    sum = mergeRound(mergeRound(mergeRound(mergeRound(sum, a), b), c), d);
  }
  sum += length;
  for (; at + 8 <= end; at += 8) sum = rotl(sum ^ round(0, load<u64>(at)), 27) * prime1 + prime4;
  if (at + 4 <= end) {
    sum = rotl(sum ^ (<u64>load<u32>(at) * prime1), 23) * prime2 + prime3;
    at += 4;
  }
  for (; at < end; at++) sum = rotl(sum ^ (<u64>load<u8>(at) * prime5), 11) * prime1;
  sum = (sum ^ (sum >> 33)) * prime2;
  sum = (sum ^ (sum >> 29)) * prime3;
  return sum ^ (sum >> 32);
}
