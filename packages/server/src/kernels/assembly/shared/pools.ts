// Rows of bytes that repeat, each kept once. Messages and the data of instructions come again and again; what is different of
// a row group takes little more than half of all. A pool is entries one after the other, and by row the offset of its entry.
//
//   entry of a text   length · the text
//   entry of data     byte length with IS_BYTES, then the bytes; once it has been written the length of its text, then that
import { BASE58_FAST_BYTES_MAX, base58Encode } from './base58';

/** Places of the table that are looked at for a row. Rows made to collide are then kept twice, and cost no more than others. */
const PROBE_COUNT_MAX: u32 = 16;
const HEAD: u32 = 4;
const IS_BYTES: u32 = 0x80000000;

/** Where the row belongs that was not found; 0 if there is no place near. */
let freePlace: usize = 0;

// @ts-ignore: decorator
@inline
function mix(hash: u64, value: u64): u64 {
  const product = (hash ^ value) * 0x9e3779b97f4a7c15;
  return product ^ (product >> 32);
}

/** The last bytes are taken with some before them, or, where there are none, cut out of what follows. */
function hashOf(at: usize, length: u32): u32 {
  let hash: u64 = mix(length, 0);
  if (length < 8) return <u32>mix(hash, lastBytes(at, length));
  const last = at + length - 8;
  for (; at < last; at += 8) hash = mix(hash, load<u64>(at));
  return <u32>mix(hash, load<u64>(last));
}

// @ts-ignore: decorator
@inline
function lastBytes(at: usize, count: u32): u64 {
  return count == 0 ? 0 : load<u64>(at) & (<u64>-1 >> (64 - (count << 3)));
}

function isSame(a: usize, b: usize, length: u32): bool {
  if (length < 8) return lastBytes(a, length) == lastBytes(b, length);
  const last = a + length - 8;
  const distance = b - a;
  for (; a < last; a += 8) if (load<u64>(a) != load<u64>(a + distance)) return false;
  return load<u64>(last) == load<u64>(last + distance);
}

/** The entry with these bytes, 0 if there is none. */
function find(at: usize, length: u32, head: u32, table: usize, mask: u32): usize {
  const hash = hashOf(at, length);
  freePlace = 0;
  for (let probe: u32 = 0; probe < PROBE_COUNT_MAX; probe++) {
    const place = table + (((hash + probe) & mask) << 2);
    const entry: usize = load<u32>(place);
    if (entry == 0) {
      freePlace = place;
      return 0;
    }
    if (load<u32>(entry) == head && isSame(entry + HEAD, at, length)) return entry;
  }
  return 0;
}

/** What is copied too far is overwritten by the next entry; there are spare bytes behind the last. */
// @ts-ignore: decorator
@inline
function copyRow(at: usize, length: u32, out: usize): void {
  for (let copied: u32 = 0; copied < length; copied += 16) v128.store(out + copied, v128.load(at + copied));
}

/**
 * Texts to a pool at `out`, the offset of each row's entry in 32 bits to `offsets`. The table has mask + 1 places of 32 bits, a
 * power of two, zeroed. Answers the end of the pool: at most 4 bytes a row more than the texts.
 */
export function poolTexts(bytes: usize, starts: usize, count: u32, table: usize, mask: u32, offsets: usize, out: usize): usize {
  const pool = out;
  for (let row: u32 = 0; row < count; row++) {
    const start = load<u32>(starts + (row << 2));
    const length = load<u32>(starts + (row << 2), 4) - start;
    let entry: usize = find(bytes + start, length, length, table, mask);
    if (entry == 0) {
      entry = out;
      if (freePlace != 0) store<u32>(freePlace, <u32>entry);
      store<u32>(entry, length);
      copyRow(bytes + start, length, entry + HEAD);
      out += HEAD + length;
    }
    store<u32>(offsets + (row << 2), <u32>(entry - pool));
  }
  return out;
}

/**
 * The same of data, each entry with room for its text: base58 takes less than 11 characters for 8 bytes. 8 more hold the head,
 * what is rounded, and what the encoder writes too far.
 */
// @ts-ignore: decorator
@inline
function dataEntryBytes(length: u32): u32 {
  return <u32>((<u64>length * 11) >> 3) + 8;
}

/** Long data is encoded at once, as the slow way cannot do it in place, and is kept as often as it comes. */
export function poolData(bytes: usize, starts: usize, count: u32, table: usize, mask: u32, offsets: usize, out: usize): usize {
  const pool = out;
  for (let row: u32 = 0; row < count; row++) {
    const start = load<u32>(starts + (row << 2));
    const length = load<u32>(starts + (row << 2), 4) - start;
    const isLong = length > BASE58_FAST_BYTES_MAX;
    let entry: usize = isLong ? 0 : find(bytes + start, length, length | IS_BYTES, table, mask);
    if (entry == 0) {
      entry = out;
      if (isLong) {
        store<u32>(entry, <u32>(base58Encode(bytes + start, length, entry + HEAD) - entry - HEAD));
      } else {
        if (freePlace != 0) store<u32>(freePlace, <u32>entry);
        store<u32>(entry, length | IS_BYTES);
        copyRow(bytes + start, length, entry + HEAD);
      }
      out += dataEntryBytes(length);
    }
    store<u32>(offsets + (row << 2), <u32>(entry - pool));
  }
  return out;
}

/** The length of the text of an entry of data; the text is behind the head from now on. */
// @ts-ignore: decorator
@inline
export function dataText(entry: usize): u32 {
  const head = load<u32>(entry);
  return (head & IS_BYTES) == 0 ? head : makeDataText(entry, head ^ IS_BYTES);
}

function makeDataText(entry: usize, length: u32): u32 {
  // In place: all bytes are read before a character of what follows the zeros is written.
  const text = entry + HEAD;
  const textLength = <u32>(base58Encode(text, length, text) - text);
  store<u32>(entry, textLength);
  return textLength;
}
