// Finds repetitions in a short text, which has fewer of them: it checks every position, compares two candidates and accepts shorter matches
// than the search in a long text.
import { INPUT, MATCH_BYTES_MIN, TABLE } from './deflate-memory';
import { addSequence, endSequences, matchLength } from './deflate-sequences';

const WORD_BYTES: u32 = 8;
/** The shift that removes the bytes of a word that are not hashed and compared. */
const WORD_SHIFT: u64 = (WORD_BYTES - MATCH_BYTES_MIN) << 3;
/** Buckets by hash: the last two positions plus 1, the newer one in the low half. */
const HASH_BITS: u32 = 13;

/** Starts a text. */
export function beginShortSearch(): void {
  memory.fill(TABLE, 0, 4 << HASH_BITS);
}

/** Stores a position in its bucket and returns the previous content. */
// @ts-ignore: decorator
@inline
function insert(at: usize, word: u64): u32 {
  const slot: usize = <usize>((word * 0x9e3779b185ebca87) >> (64 - HASH_BITS)) << 2;
  const bucket = load<u32>(slot, TABLE);
  store<u32>(slot, (bucket << 16) | (<u32>(at - INPUT) + 1), TABLE);
  return bucket;
}

/** Returns the length of the match with a candidate, or 0. */
// @ts-ignore: decorator
@inline
function lengthAt(candidate: usize, at: usize, word: u64, end: usize): u32 {
  if (load<u64>(candidate) << WORD_SHIFT != word || candidate < INPUT) return 0;
  return matchLength(candidate, at, MATCH_BYTES_MIN, <u32>(end - at));
}

/** Finds the sequences of a text of one block, from the input to `end`. */
export function searchShortText(end: usize): void {
  const searchEnd: usize = end - INPUT < WORD_BYTES ? INPUT : end - WORD_BYTES + 1;
  let at = INPUT;
  let literals = INPUT;
  while (at < searchEnd) {
    const word = load<u64>(at) << WORD_SHIFT;
    const bucket = insert(at, word);
    let candidate: usize = INPUT - 1 + (bucket & 0xffff);
    let length = lengthAt(candidate, at, word, end);
    const older: usize = INPUT - 1 + (bucket >> 16);
    const olderLength = lengthAt(older, at, word, end);
    if (olderLength > length) {
      candidate = older;
      length = olderLength;
    }
    if (length == 0) {
      at++;
      continue;
    }
    const next = addSequence(literals, at, <u32>(at - candidate), length);
    while (++at < next) insert(at, load<u64>(at) << WORD_SHIFT);
    literals = at;
  }
  endSequences(literals, end);
}
