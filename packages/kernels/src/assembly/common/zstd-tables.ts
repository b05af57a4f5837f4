// The tables with which Zstandard decodes symbols: finite state entropy (FSE) for sequences and for Huffman weights, Huffman for literals.

/** An entry of an FSE table: its symbol, the number of bits to read, and in the upper half the state to add them to. */
const entryBytes: u32 = 4;
const huffmanLogMax: u32 = 11;
const weightLogMax: u32 = 6;
const weightMax: u32 = 12;
const symbolCountMax: u32 = 256;

/** The bytes that a description of a table had. */
export let tableBytesRead: u32 = 0;

export function fseTableBytes(log: u32): u32 {
  return entryBytes << log;
}

/** Two sets of tables for sequences, with logarithms of at most 9, 8 and 9. */
export const FSE_TABLES_BYTES: u32 = 2 * ((4 << 9) + (4 << 8) + (4 << 9));
export const HUFFMAN_BYTES: u32 = (2 << 11) + (4 << 6) + 256 + 64;

/** The counts of a distribution, and the next state of each symbol while a table is built. */
const counts = memory.data(256 * 2, 8);
const nextStates = memory.data(256 * 2, 8);

/** Entries of two bytes: a symbol and the number of its bits. */
let huffmanTable: usize = 0;
let huffmanLog: u32 = 0;
export let hasHuffman: bool = false;
let weightTable: usize = 0;
let weights: usize = 0;

export function placeHuffman(base: usize): void {
  huffmanTable = base;
  weightTable = huffmanTable + (2 << huffmanLogMax);
  weights = weightTable + (entryBytes << weightLogMax);
}

export function forgetHuffman(): void {
  hasHuffman = false;
}

/** Makes a table that always gives one symbol without reading bits. */
export function setSingleSymbol(table: usize, symbol: u32): void {
  store<u32>(table, symbol);
}

/** Builds a table from the counts of its symbols, whose sum is the size of the table. Returns false if it is not. */
export function buildFse(table: usize, distribution: usize, symbolCount: u32, log: u32): bool {
  const size: u32 = 1 << log;
  const mask = size - 1;
  let high = size - 1;
  for (let symbol: u32 = 0; symbol < symbolCount; symbol++) {
    const count = <i32>load<i16>(distribution + (symbol << 1));
    if (count < 0) store<u32>(table + (high-- << 2), symbol);
    store<u16>(nextStates + (symbol << 1), <u16>(count < 0 ? 1 : count));
  }
  const step = (size >> 1) + (size >> 3) + 3;
  let position: u32 = 0;
  for (let symbol: u32 = 0; symbol < symbolCount; symbol++) {
    const count = <i32>load<i16>(distribution + (symbol << 1));
    for (let i: i32 = 0; i < count; i++) {
      store<u32>(table + (position << 2), symbol);
      do position = (position + step) & mask;
      while (position > high);
    }
  }
  if (position != 0) return false;
  for (let state: u32 = 0; state < size; state++) {
    const symbol = load<u32>(table + (state << 2));
    const next = <u32>load<u16>(nextStates + (symbol << 1));
    store<u16>(nextStates + (symbol << 1), <u16>(next + 1));
    const bits = log - (31 - clz(next));
    store<u32>(table + (state << 2), symbol | (bits << 8) | (((next << bits) - size) << 16));
  }
  return true;
}

/** Reads the description of a table and builds it. Returns the logarithm of its size, or -1 if it is invalid. */
export function readFseTable(table: usize, start: usize, end: usize, logMax: u32, symbolMax: u32): i32 {
  if (start == end) return -1;
  const bitCount = <u32>(end - start) << 3;
  const log = (<u32>load<u8>(start) & 15) + 5;
  if (log > logMax) return -1;
  let bit: u32 = 4;
  let remaining: i32 = (1 << log) + 1;
  let threshold: i32 = 1 << log;
  let width = log + 1;
  let symbol: u32 = 0;
  while (remaining > 1) {
    if (symbol > symbolMax || bit >= bitCount) return -1;
    const bits = <i32>(load<u32>(start + (bit >> 3)) >> (bit & 7));
    const spare = 2 * threshold - 1 - remaining;
    let count = bits & (threshold - 1);
    if (count < spare) {
      bit += width - 1;
    } else {
      count = bits & (2 * threshold - 1);
      if (count >= threshold) count -= spare;
      bit += width;
    }
    count--;
    remaining -= count < 0 ? -count : count;
    store<i16>(counts + (symbol++ << 1), <i16>count);
    if (count == 0) {
      // Two bits say how many more symbols have the count 0; 3 says that two more bits follow.
      while (true) {
        if (bit >= bitCount) return -1;
        const more = (<u32>load<u16>(start + (bit >> 3)) >> (bit & 7)) & 3;
        bit += 2;
        if (symbol + more > symbolMax + 1) return -1;
        for (let i: u32 = 0; i < more; i++) store<i16>(counts + (symbol++ << 1), 0);
        if (more < 3) break;
      }
    }
    while (remaining < threshold) {
      width--;
      threshold >>= 1;
    }
  }
  if (remaining != 1 || bit > bitCount) return -1;
  tableBytesRead = (bit + 7) >> 3;
  return buildFse(table, counts, symbol, log) ? <i32>log : -1;
}

/** Reads the description of a Huffman tree and builds its table. */
export function readHuffman(start: usize, end: usize): bool {
  if (start == end) return false;
  hasHuffman = false;
  const header = <u32>load<u8>(start);
  const count = header >= 128 ? readDirectWeights(start + 1, end, header - 127) : readPackedWeights(start + 1, end, header);
  return count > 0 && buildHuffman(<u32>count);
}

/** Reads weights of four bits each. Returns their number, or -1. */
function readDirectWeights(start: usize, end: usize, count: u32): i32 {
  const byteCount = (count + 1) >> 1;
  if (byteCount > <u32>(end - start)) return -1;
  for (let i: u32 = 0; i < count; i++) {
    const byte = <u32>load<u8>(start + (i >> 1));
    store<u8>(weights + i, (i & 1) == 0 ? byte >> 4 : byte & 15);
  }
  tableBytesRead = 1 + byteCount;
  return <i32>count;
}

/** Reads weights that are coded with FSE, two states in turn. Returns their number, or -1. */
function readPackedWeights(start: usize, end: usize, byteCount: u32): i32 {
  if (byteCount > <u32>(end - start)) return -1;
  const packedEnd = start + byteCount;
  const log = readFseTable(weightTable, start, packedEnd, weightLogMax, weightMax);
  if (log < 0) return -1;
  const bits = start + tableBytesRead;
  tableBytesRead = 1 + byteCount;
  if (bits >= packedEnd || load<u8>(packedEnd - 1) == 0) return -1;
  let left = <i32>((packedEnd - bits) << 3) - <i32>(clz(<u32>load<u8>(packedEnd - 1)) - 23);
  if (left < log * 2) return -1;
  left -= log;
  let first = bitsAt(bits, left, <u32>log);
  left -= log;
  let second = bitsAt(bits, left, <u32>log);
  let count: u32 = 0;
  while (count < symbolCountMax - 2) {
    const entry = load<u32>(weightTable + (first << 2));
    store<u8>(weights + count++, entry & 0xff);
    const width = (entry >> 8) & 0xff;
    if (left < <i32>width) {
      store<u8>(weights + count++, load<u8>(weightTable + (second << 2)));
      return <i32>count;
    }
    left -= width;
    // The other state is next.
    const next = (entry >> 16) + bitsAt(bits, left, width);
    first = second;
    second = next;
  }
  return -1;
}

function bitsAt(start: usize, bit: i32, count: u32): u32 {
  return (load<u32>(start + (bit >> 3)) >> (bit & 7)) & ((1 << count) - 1);
}

/** Builds the table from the weights. The weight of the last symbol is the one that completes the tree. */
function buildHuffman(count: u32): bool {
  let sum: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const weight = <u32>load<u8>(weights + i);
    if (weight > huffmanLogMax) return false;
    if (weight > 0) sum += 1 << (weight - 1);
  }
  if (sum == 0) return false;
  const log: u32 = 32 - clz(sum);
  if (log > huffmanLogMax) return false;
  const rest = (<u32>1 << log) - sum;
  if (popcnt(rest) != 1) return false;
  store<u8>(weights + count, 32 - clz(rest));
  return fillHuffman(count + 1, log);
}

/** For each weight, the position of the entries of its next symbol. Symbols of small weights, with long codes, come first. */
const nextEntries = memory.data(16 * 4, 4);

function fillHuffman(symbolCount: u32, log: u32): bool {
  memory.fill(nextEntries, 0, 64);
  for (let symbol: u32 = 0; symbol < symbolCount; symbol++) {
    const counter = nextEntries + (<u32>load<u8>(weights + symbol) << 2);
    store<u32>(counter, load<u32>(counter) + 1);
  }
  let position: u32 = 0;
  for (let weight: u32 = 1; weight <= log; weight++) {
    const entry = nextEntries + (weight << 2);
    const count = load<u32>(entry);
    store<u32>(entry, position);
    position += count << (weight - 1);
  }
  if (position != <u32>1 << log) return false;
  for (let symbol: u32 = 0; symbol < symbolCount; symbol++) {
    const weight = <u32>load<u8>(weights + symbol);
    if (weight == 0) continue;
    const next = nextEntries + (weight << 2);
    const first = load<u32>(next);
    const length = <u32>1 << (weight - 1);
    store<u32>(next, first + length);
    fillEntries(huffmanTable + (first << 1), length, symbol | ((log + 1 - weight) << 8));
  }
  huffmanLog = log;
  hasHuffman = true;
  return true;
}

/** Stores the same entry `length` times, which is a power of two. */
function fillEntries(position: usize, length: u32, entry: u32): void {
  if (length == 1) {
    store<u16>(position, <u16>entry);
    return;
  }
  const pair = entry | (entry << 16);
  if (length == 2) {
    store<u32>(position, pair);
    return;
  }
  const four = <u64>pair | (<u64>pair << 32);
  for (const end = position + (length << 1); position < end; position += 8) store<u64>(position, four);
}

/** Decodes `count` symbols from a stream that is read from its end. Returns false unless they use exactly all of its bits. */
export function decodeHuffman(start: usize, end: usize, out: usize, count: u32): bool {
  if (start >= end || load<u8>(end - 1) == 0) return false;
  let left = <i32>((end - start) << 3) - <i32>(clz(<u32>load<u8>(end - 1)) - 23);
  const log = <i32>huffmanLog;
  const mask: u32 = (1 << huffmanLog) - 1;
  const outEnd = out + count;
  // A word has at least 57 bits of the stream, and five codes have at most 55.
  const shift = <u64>(64 - huffmanLog);
  while (left >= 64 && out + 5 <= outEnd) {
    const byteEnd = (left + 7) >> 3;
    let bits = load<u64>(start + byteEnd - 8) << <u64>((byteEnd << 3) - left);
    for (let i: u32 = 0; i < 5; i++) {
      const entry = <u32>load<u16>(huffmanTable + (<usize>(bits >> shift) << 1));
      store<u8>(out + i, entry);
      bits <<= <u64>(entry >> 8);
      left -= <i32>(entry >> 8);
    }
    out += 5;
  }
  for (; out < outEnd; out++) {
    const from = left - log;
    // Fewer bits than the longest code may be left; the missing ones are zeros.
    const bits = from >= 0 ? load<u32>(start + (from >> 3)) >> (from & 7) : left <= 0 ? 0 : load<u32>(start) << -from;
    const entry = <u32>load<u16>(huffmanTable + ((bits & mask) << 1));
    store<u8>(out, entry);
    left -= <i32>(entry >> 8);
    if (left < 0) return false;
  }
  return left == 0;
}
