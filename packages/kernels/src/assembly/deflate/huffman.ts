// Canonical Huffman codes of limited length, as deflate requires.
//
// A code is one 32-bit entry: its bits, in writing order, above its length in the lowest 8 bits. The entry of an unused symbol is 0.

/** More symbols than any alphabet of deflate. */
const SYMBOLS_MAX: u32 = 288;
const SYMBOL_MASK: u32 = 511;
const SYMBOL_BITS: u32 = 9;
/** An upper bound for the depth of a tree over at most 2^16 symbols, because depths grow like Fibonacci numbers. */
const DEPTH_END: u32 = 32;
const LENGTH_END: u32 = 16;

/** The size of the working memory of `buildCodes`. */
export const HUFFMAN_BYTES: u32 = SYMBOLS_MAX * 8 + DEPTH_END * 4 + LENGTH_END * 4;

let keys: usize = 0;
let nodes: usize = 0;
let counts: usize = 0;
let nextCodes: usize = 0;

/** Sets the address of the working memory. It is called once. */
export function huffmanInitialize(base: usize): void {
  keys = base;
  nodes = keys + SYMBOLS_MAX * 4;
  counts = nodes + SYMBOLS_MAX * 4;
  nextCodes = counts + DEPTH_END * 4;
}

/**
 * Builds the codes of `symbolCount` symbols from their frequencies, each below 2^23. At least two symbols get a code, even if they do not
 * occur, because some decoders refuse an incomplete code.
 */
export function buildCodes(frequencies: usize, symbolCount: u32, lengthMax: u32, codes: usize): void {
  const usedCount = collectKeys(frequencies, symbolCount);
  sortKeys(usedCount);
  memory.fill(counts, 0, DEPTH_END * 4);
  countDepths(usedCount);
  limitLengths(lengthMax);
  memory.fill(codes, 0, symbolCount << 2);
  // The least frequent symbols come first and get the longest codes.
  let key = keys;
  for (let length = lengthMax; length > 0; length--) {
    for (let rest = load<u32>(counts + (length << 2)); rest > 0; rest--) {
      store<u32>(codes + ((load<u32>(key) & SYMBOL_MASK) << 2), length);
      key += 4;
    }
  }
  assignCodes(codes, symbolCount);
}

/** Converts lengths to codes, in place. */
export function assignCodes(codes: usize, symbolCount: u32): void {
  const end = codes + (symbolCount << 2);
  memory.fill(counts, 0, LENGTH_END * 4);
  for (let at = codes; at < end; at += 4) {
    const count = counts + (load<u32>(at) << 2);
    store<u32>(count, load<u32>(count) + 1);
  }
  let code: u32 = 0;
  for (let length: u32 = 1; length < LENGTH_END; length++) {
    store<u32>(nextCodes + (length << 2), code);
    code = (code + load<u32>(counts + (length << 2))) << 1;
  }
  for (let at = codes; at < end; at += 4) {
    const length = load<u32>(at);
    if (length == 0) continue;
    const next = nextCodes + (length << 2);
    const value = load<u32>(next);
    store<u32>(next, value + 1);
    store<u32>(at, ((reverse16(value) >> (16 - length)) << 8) | length);
  }
}

/** Collects the used symbols. Each key has the frequency above the symbol, so that sorting orders the symbols by frequency. */
function collectKeys(frequencies: usize, symbolCount: u32): u32 {
  let count: u32 = 0;
  for (let symbol: u32 = 0; symbol < symbolCount; symbol++) {
    const frequency = load<u32>(frequencies + (symbol << 2));
    if (frequency == 0) continue;
    store<u32>(keys + (count << 2), (frequency << SYMBOL_BITS) | symbol);
    count++;
  }
  while (count < 2) {
    const symbol: u32 = count == 1 && (load<u32>(keys) & SYMBOL_MASK) == 0 ? 1 : 0;
    store<u32>(keys + (count << 2), (1 << SYMBOL_BITS) | symbol);
    count++;
  }
  return count;
}

/** Shellsort: short, without recursion, and fast for the hundred symbols of a typical block. */
function sortKeys(count: u32): void {
  for (let gap: u32 = 121; gap > 0; gap = (gap - 1) / 3) {
    for (let i = gap; i < count; i++) {
      const key = load<u32>(keys + (i << 2));
      let j = i;
      while (j >= gap && load<u32>(keys + ((j - gap) << 2)) > key) {
        store<u32>(keys + (j << 2), load<u32>(keys + ((j - gap) << 2)));
        j -= gap;
      }
      store<u32>(keys + (j << 2), key);
    }
  }
}

// @ts-ignore: decorator
@inline
function node(index: u32): u32 {
  return load<u32>(nodes + (index << 2));
}

// @ts-ignore: decorator
@inline
function setNode(index: u32, value: u32): void {
  store<u32>(nodes + (index << 2), value);
}

/**
 * Counts the leaves at each depth of the Huffman tree over the sorted keys. This is the in-position method of Moffat and
 * Katajainen: one array holds first weights, then parents, then depths of the inner nodes.
 */
function countDepths(count: u32): void {
  for (let i: u32 = 0; i < count; i++) setNode(i, load<u32>(keys + (i << 2)) >> SYMBOL_BITS);
  let leaf: u32 = 0;
  let root: u32 = 0;
  for (let inner: u32 = 0; inner < count - 1; inner++) {
    let weight: u32 = 0;
    for (let child = 0; child < 2; child++) {
      if (leaf >= count || (root < inner && node(root) < node(leaf))) {
        weight += node(root);
        setNode(root++, inner);
      } else {
        weight += node(leaf++);
      }
    }
    setNode(inner, weight);
  }
  setNode(count - 2, 0);
  for (let i = <i32>count - 3; i >= 0; i--) setNode(i, node(node(i)) + 1);
  let inner = <i32>count - 2;
  let open: u32 = 1;
  for (let depth: u32 = 0; open > 0; depth++) {
    let innerCount: u32 = 0;
    while (inner >= 0 && node(inner) == depth) {
      innerCount++;
      inner--;
    }
    store<u32>(counts + (depth << 2), open - innerCount);
    open = innerCount << 1;
  }
}

/** Shortens codes that are too long, and lengthens the cheapest other codes until the code is complete again. */
function limitLengths(lengthMax: u32): void {
  const longest = counts + (lengthMax << 2);
  for (let length = lengthMax + 1; length < DEPTH_END; length++) {
    store<u32>(longest, load<u32>(longest) + load<u32>(counts + (length << 2)));
  }
  let total: u32 = 0;
  for (let length: u32 = 1; length <= lengthMax; length++) {
    total += load<u32>(counts + (length << 2)) << (lengthMax - length);
  }
  for (; total > 1 << lengthMax; total--) {
    let shorter = longest - 4;
    while (load<u32>(shorter) == 0) shorter -= 4;
    store<u32>(longest, load<u32>(longest) - 1);
    store<u32>(shorter, load<u32>(shorter) - 1);
    store<u32>(shorter, load<u32>(shorter, 4) + 2, 4);
  }
}

// @ts-ignore: decorator
@inline
function reverse16(value: u32): u32 {
  value = ((value & 0x5555) << 1) | ((value >> 1) & 0x5555);
  value = ((value & 0x3333) << 2) | ((value >> 2) & 0x3333);
  value = ((value & 0x0f0f) << 4) | ((value >> 4) & 0x0f0f);
  return ((value & 0xff) << 8) | (value >> 8);
}
