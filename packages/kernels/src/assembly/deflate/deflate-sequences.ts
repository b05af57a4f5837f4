// The output of a search, which the writer reads: sequences, all literals in a row, and the frequencies of lengths and distances.
import { DISTANCE_COUNTS, LENGTH_COUNTS, LITERALS, SEQUENCES } from './deflate-memory';

/** The longest and the shortest match of the format. */
export const LENGTH_MAX: u32 = 258;
export const LENGTH_MIN: u32 = 3;
const DISTANCE_SYMBOL_COUNT: u32 = 30;

/** The ends of the literals and of the sequences of the block. */
export let literalsEnd: usize = 0;
export let sequencesEnd: usize = 0;

export function beginSequences(): void {
  memory.fill(LENGTH_COUNTS, 0, (LENGTH_MAX + 1) << 2);
  memory.fill(DISTANCE_COUNTS, 0, DISTANCE_SYMBOL_COUNT << 2);
  literalsEnd = LITERALS;
  sequencesEnd = SEQUENCES;
}

/**
 * Adds the literals from `start` up to `at` and the match at `at`, which may be longer than the format's maximum. Returns the end of the
 * match. One or two last bytes that are too short for a match become literals.
 */
export function addSequence(start: usize, at: usize, distance: u32, length: u32): usize {
  addLiterals(start, at);
  while (length > LENGTH_MAX) {
    addMatch(distance, LENGTH_MAX);
    store<u32>(sequencesEnd, 0);
    at += LENGTH_MAX;
    length -= LENGTH_MAX;
  }
  if (length < LENGTH_MIN) return at;
  addMatch(distance, length);
  return at + length;
}

/** Adds the literals after the last match. */
export function endSequences(start: usize, end: usize): void {
  addLiterals(start, end);
  store<u32>(sequencesEnd, 0, 4);
  sequencesEnd += 8;
}

/** Returns the symbol of a distance minus 1. */
// @ts-ignore: decorator
@inline
export function distanceSymbol(distance: u32): u32 {
  if (distance < 4) return distance;
  const bit = 31 - clz(distance);
  return (bit << 1) + ((distance >> (bit - 1)) & 1);
}

/** Returns how many bytes at two positions are equal, up to `lengthEnd`. The first `length` are known to be equal. */
// @ts-ignore: decorator
@inline
export function matchLength(candidate: usize, at: usize, length: u32, lengthEnd: u32): u32 {
  while (length < lengthEnd) {
    const unequal = i8x16.bitmask(i8x16.ne(v128.load(candidate + length), v128.load(at + length)));
    if (unequal != 0) return min<u32>(length + ctz(unequal), lengthEnd);
    length += 16;
  }
  return lengthEnd;
}

// @ts-ignore: decorator
@inline
function addLiterals(start: usize, end: usize): void {
  const count = end - start;
  const out = literalsEnd;
  for (let copied: usize = 0; copied < count; copied += 16) v128.store(out + copied, v128.load(start + copied));
  literalsEnd = out + count;
  store<u32>(sequencesEnd, <u32>count);
}

// @ts-ignore: decorator
@inline
function addMatch(distance: u32, length: u32): void {
  store<u32>(sequencesEnd, ((distance - 1) << 16) | length, 4);
  increment(LENGTH_COUNTS + (length << 2));
  increment(DISTANCE_COUNTS + (distanceSymbol(distance - 1) << 2));
  sequencesEnd += 8;
}

// @ts-ignore: decorator
@inline
function increment(counter: usize): void {
  store<u32>(counter, load<u32>(counter) + 1);
}
