// The LZ4 block format, with greedy compression. It is deterministic: the same input gives the same bytes on every machine, which zlib does
// not guarantee across its builds.

import { copyShort } from './copy';

const HASH_BITS: u32 = 15;
/** The size of the table for `lzCompress`. */
export const LZ_TABLE_BYTES: u32 = (1 << HASH_BITS) * 4;
const MATCH_MIN: u32 = 4;
/** In the format, every block ends with at least this many literals. */
const LAST_LITERALS: u32 = 5;
/** In the format, no match may start this close to the end of a block. */
const MATCH_LIMIT: u32 = 12;
const OFFSET_MAX: u32 = 65535;

// @ts-ignore: decorator
@inline
function hash(value: u32): u32 {
  return (value * 2654435761) >> (32 - HASH_BITS);
}

// @ts-ignore: decorator
@inline
function writeLength(at: usize, rest: u32): usize {
  while (rest >= 255) {
    store<u8>(at++, 255);
    rest -= 255;
  }
  store<u8>(at++, <u8>rest);
  return at;
}

function writeSequence(out: usize, literals: usize, literalCount: u32, offset: u32, matchLength: u32): usize {
  const token = out++;
  const high: u32 = literalCount < 15 ? literalCount : 15;
  if (high == 15) out = writeLength(out, literalCount - 15);
  copyShort(out, literals, literalCount);
  out += literalCount;
  if (matchLength == 0) {
    store<u8>(token, <u8>(high << 4));
    return out;
  }
  store<u16>(out, <u16>offset);
  out += 2;
  const rest = matchLength - MATCH_MIN;
  const low: u32 = rest < 15 ? rest : 15;
  if (low == 15) out = writeLength(out, rest - 15);
  store<u8>(token, <u8>((high << 4) | low));
  return out;
}

// @ts-ignore: decorator
@inline
function matchLengthAt(a: usize, b: usize, limit: usize): u32 {
  const start = b;
  while (b + 8 <= limit) {
    const difference = load<u64>(a) ^ load<u64>(b);
    if (difference != 0) return <u32>(b - start + (ctz(difference) >> 3));
    a += 8;
    b += 8;
  }
  while (b < limit && load<u8>(a) == load<u8>(b)) {
    a++;
    b++;
  }
  return <u32>(b - start);
}

/** Compresses `length` bytes. `out` needs length + length / 255 + 32 bytes, and the 15 bytes after the input must be readable. Returns the compressed length. */
export function lzCompress(input: usize, length: u32, out: usize, table: usize): u32 {
  const outStart = out;
  const end = input + length;
  let anchor = input;
  if (length > MATCH_LIMIT) {
    memory.fill(table, 0, LZ_TABLE_BYTES);
    const matchStartLimit = end - MATCH_LIMIT;
    const matchEndLimit = end - LAST_LITERALS;
    let at = input;
    let misses: u32 = 0;
    while (at < matchStartLimit) {
      const word = load<u32>(at);
      const slot = table + (hash(word) << 2);
      // Positions are stored plus one, so that 0 means empty.
      const stored = load<u32>(slot);
      store<u32>(slot, <u32>(at - input) + 1);
      if (stored != 0) {
        let candidate = input + (stored - 1);
        if (at - candidate <= OFFSET_MAX && load<u32>(candidate) == word) {
          // Extends the match backwards.
          while (at > anchor && candidate > input && load<u8>(at - 1) == load<u8>(candidate - 1)) {
            at--;
            candidate--;
          }
          const matched = MATCH_MIN + matchLengthAt(candidate + MATCH_MIN, at + MATCH_MIN, matchEndLimit);
          out = writeSequence(out, anchor, <u32>(at - anchor), <u32>(at - candidate), matched);
          at += matched;
          anchor = at;
          misses = 0;
          if (at < matchStartLimit) {
            store<u32>(table + (hash(load<u32>(at - 2)) << 2), <u32>(at - 2 - input) + 1);
          }
          continue;
        }
      }
      // The steps grow over incompressible input.
      at += 1 + (misses++ >> 6);
    }
  }
  out = writeSequence(out, anchor, <u32>(end - anchor), 0, 0);
  return <u32>(out - outStart);
}

/** The hash bits of the tables of `lzBuildTable`, and of the table for pages. */
const DICTIONARY_HASH_BITS: u32 = 14;
const PAGE_HASH_BITS: u32 = 12;
export const LZ_DICTIONARY_TABLE_BYTES: u32 = (1 << DICTIONARY_HASH_BITS) * 2;
export const LZ_PAGE_TABLE_BYTES: u32 = (1 << PAGE_HASH_BITS) * 4;

/**
 * Stores the last position of each hash in the dictionary, plus one. Positions have 16 bits, because distances have no more, and because the
 * table then fits into the processor's first cache.
 */
export function lzBuildTable(dictionary: usize, length: u32, table: usize): void {
  memory.fill(table, 0, LZ_DICTIONARY_TABLE_BYTES);
  if (length < MATCH_MIN) return;
  for (let at: u32 = 0; at <= length - MATCH_MIN; at++) {
    store<u16>(table + (((load<u32>(dictionary + at) * 2654435761) >> (32 - DICTIONARY_HASH_BITS)) << 1), <u16>(at + 1));
  }
}

/** Grows with every page, so that entries of earlier pages are recognized without clearing the table. */
let pageBase: u32 = 0;

/** Starts a sequence of pages. */
export function lzClearPages(pageTable: usize): void {
  memory.fill(pageTable, 0, LZ_PAGE_TABLE_BYTES);
  pageBase = 1;
}

/**
 * Compresses `length` bytes that follow the dictionary at `window`. Searches for matches in the page first, then in the dictionary. `out`
 * needs length + length / 255 + 32 bytes, and the 15 bytes after the page must be readable. Returns the compressed length.
 */
export function lzCompressWith(
  window: usize, dictionaryBytes: u32, length: u32, out: usize, dictionaryTable: usize, pageTable: usize,
): u32 {
  const outStart = out;
  const input = window + dictionaryBytes;
  const end = input + length;
  let anchor = input;
  const base = pageBase;
  if (length > MATCH_LIMIT) {
    const matchStartLimit = end - MATCH_LIMIT;
    const matchEndLimit = end - LAST_LITERALS;
    let at = input;
    let misses: u32 = 0;
    while (at < matchStartLimit) {
      const word = load<u32>(at);
      const product = word * 2654435761;
      const slot = pageTable + ((product >> (32 - PAGE_HASH_BITS)) << 2);
      const stored = load<u32>(slot);
      store<u32>(slot, base + <u32>(at - input));
      let candidate: usize = 0;
      if (stored >= base) {
        const cursor = input + (stored - base);
        if (cursor < at && at - cursor <= OFFSET_MAX && load<u32>(cursor) == word) candidate = cursor;
      }
      if (candidate == 0) {
        const known = <u32>load<u16>(dictionaryTable + ((product >> (32 - DICTIONARY_HASH_BITS)) << 1));
        if (known != 0) {
          const cursor = window + (known - 1);
          if (at - cursor <= OFFSET_MAX && load<u32>(cursor) == word) candidate = cursor;
        }
      }
      if (candidate == 0) {
        at += 1 + (misses++ >> 6);
        continue;
      }
      while (at > anchor && candidate > window && load<u8>(at - 1) == load<u8>(candidate - 1)) {
        at--;
        candidate--;
      }
      const matched = MATCH_MIN + matchLengthAt(candidate + MATCH_MIN, at + MATCH_MIN, matchEndLimit);
      out = writeSequence(out, anchor, <u32>(at - anchor), <u32>(at - candidate), matched);
      at += matched;
      anchor = at;
      misses = 0;
    }
  }
  out = writeSequence(out, anchor, <u32>(end - anchor), 0, 0);
  pageBase = base + length + 1;
  return <u32>(out - outStart);
}

/** Returns the decoded length, or -1 if the input is malformed or does not fit. Writes at most 32 bytes past the end. */
export function lzDecompress(input: usize, length: u32, out: usize, capacity: u32): i32 {
  return lzDecompressWith(input, length, out, capacity, out);
}

/** Like `lzDecompress`, but matches may reach back to `window`, a dictionary directly before the output. */
export function lzDecompressWith(input: usize, length: u32, out: usize, capacity: u32, window: usize): i32 {
  const outStart = out;
  const end = input + length;
  const outEnd = out + capacity;
  while (input < end) {
    const token: u32 = load<u8>(input++);
    let literals = token >> 4;
    if (literals == 15) {
      let more: u32;
      do {
        if (input >= end) return -1;
        more = load<u8>(input++);
        literals += more;
      } while (more == 255);
    }
    if (input + literals > end || out + literals > outEnd) return -1;
    if (literals <= 32) {
      // Short runs are copied as whole vectors. Callers leave 32 spare bytes after both buffers.
      v128.store(out, v128.load(input));
      v128.store(out + 16, v128.load(input + 16));
    } else {
      memory.copy(out, input, literals);
    }
    input += literals;
    out += literals;
    if (input >= end) break;
    if (input + 2 > end) return -1;
    const offset: u32 = load<u16>(input);
    input += 2;
    let matched = token & 15;
    if (matched == 15) {
      let more: u32;
      do {
        if (input >= end) return -1;
        more = load<u8>(input++);
        matched += more;
      } while (more == 255);
    }
    matched += MATCH_MIN;
    if (offset == 0 || out - window < <usize>offset || out + matched > outEnd) return -1;
    copyMatch(out, out - offset, matched, offset);
    out += matched;
  }
  return <i32>(out - outStart);
}

// @ts-ignore: decorator
@inline
function copyMatch(out: usize, from: usize, count: u32, offset: u32): void {
  if (offset >= 16) {
    let copied: u32 = 0;
    do {
      v128.store(out + copied, v128.load(from + copied));
      copied += 16;
    } while (copied < count);
    return;
  }
  if (offset == 1) {
    memory.fill(out, load<u8>(from), count);
    return;
  }
  for (let i: u32 = 0; i < count; i++) store<u8>(out + i, load<u8>(from + i));
}
