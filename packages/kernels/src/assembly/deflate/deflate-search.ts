// Finds repetitions in a long text. Responses consist of long repeated texts (keys, addresses, whole templates) between incompressible
// values, so one candidate per hash, taken greedily, finds almost all of them.
import { INPUT, TABLE } from './deflate-memory';
import { addSequence, endSequences, matchLength } from './deflate-sequences';

const DISTANCE_MAX: u32 = 32768;
/** How many bytes are hashed and compared at once, and the shortest match. */
const WORD_BYTES: u32 = 8;
/** The hash table has 2^15 positions of 16 bits each. */
const HASH_BITS: u32 = 15;
/** How many positions of a value are searched. If none has a match, the rest is skipped: a value repeats from its start or not at all. */
const SEARCHED_COUNT: usize = 4;
/** The lowest digit or letter. Quotes, commas and spaces are lower characters, and the value ends before them. */
const VALUE_CHARACTER_MIN: u8 = 0x30;
/** How many positions from the start of a match are added to the table. */
const INSERTED_COUNT: usize = 4;

/** Starts a text. The table has no positions of other texts, so a distance never reaches before the start. */
export function beginSearch(): void {
  memory.fill(TABLE, 0, 2 << HASH_BITS);
}

// @ts-ignore: decorator
@inline
function slotOf(word: u64): usize {
  return <usize>((word * 0x9e3779b185ebca87) >> (64 - HASH_BITS)) << 1;
}

/** Reading a word beyond the end of the text is harmless, because nothing is searched after it. */
// @ts-ignore: decorator
@inline
function insert(at: usize): void {
  store<u16>(slotOf(load<u64>(at)), <u16>(at - INPUT), TABLE);
}

/** Returns where the value at `at` ends. If it does not end before `searchEnd`, the result is `searchEnd` or a later position. */
// @ts-ignore: decorator
@inline
function endOfValue(at: usize, searchEnd: usize): usize {
  for (at++; at < searchEnd; at += 16) {
    const ends = i8x16.bitmask(i8x16.lt_u(v128.load(at), i8x16.splat(VALUE_CHARACTER_MIN)));
    if (ends != 0) return at + ctz(ends);
  }
  return at;
}

/** Finds the sequences of the block from `start` to `end`. Matches reach back into earlier blocks. */
export function searchBlock(start: usize, end: usize): void {
  const searchEnd: usize = end - start < WORD_BYTES ? start : end - WORD_BYTES + 1;
  let at = start;
  let literals = start;
  // The first position that was searched after the last match or the last skipped value.
  let begin = start;
  while (at < searchEnd) {
    const word = load<u64>(at);
    const slot = slotOf(word);
    const position = <u32>(at - INPUT);
    const distance = (position - load<u16>(slot, TABLE)) & 0xffff;
    store<u16>(slot, <u16>position, TABLE);
    const candidate = at - distance;
    // A distance of 0 is a position that was inserted in advance, or an empty slot at the start of the text.
    if (load<u64>(candidate) != word || distance - 1 >= DISTANCE_MAX) {
      if (at - begin < SEARCHED_COUNT) at++;
      else at = begin = endOfValue(at, searchEnd);
      continue;
    }
    const length = matchLength(candidate, at, WORD_BYTES, <u32>(end - at));
    // Extends the match backwards.
    const equalBefore = <u32>(clz(load<u64>(at - 8) ^ load<u64>(candidate - 8)) >> 3);
    const before = min<u32>(equalBefore, min<u32>(<u32>(at - literals), <u32>(candidate - INPUT)));
    at -= before;
    for (let next = at; next < at + INSERTED_COUNT; next++) insert(next);
    at = addSequence(literals, at, distance, length + before);
    insert(at - 2);
    literals = at;
    begin = at;
  }
  endSequences(literals, end);
}
