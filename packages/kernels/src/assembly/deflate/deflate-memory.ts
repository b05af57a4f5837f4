// The memory layout of the deflate kernel. The module has its own memory, so the addresses are constants, which the hot loops use as
// immediate offsets.
// 
//   static data │ table │ sequences │ literals │ frequencies, codes │ input … output
// 
// A sequence is a run of literals and the match that follows it, 8 bytes:
//   literal count, u32 · match length, u16 (0: the block ends here) · distance minus 1, u16
import { FREE_MEMORY_START } from '../../layout/memory';
import { HUFFMAN_BYTES } from './huffman';

/** The bytes of text per block: the maximum of a stored block. */
export const BLOCK_BYTES_MAX: u32 = 65535;
/** Texts up to this length are searched more thoroughly, because they have fewer repetitions and cost little. */
export const SHORT_TEXT_BYTES_MAX: u32 = 24576;
/** The shortest match of a search. Only the end of a match that exceeds the format's maximum may be shorter. */
export const MATCH_BYTES_MIN: u32 = 5;

/** The hash table of the match search: earlier positions in the input. */
export const TABLE: usize = FREE_MEMORY_START;
const TABLE_BYTES: u32 = 65536;

export const SEQUENCES: usize = TABLE + TABLE_BYTES;
const SEQUENCES_BYTES: u32 = (BLOCK_BYTES_MAX / MATCH_BYTES_MIN + 3) * 8;

/** All literals of a block, one run after the other. Runs are copied 16 bytes at a time. */
export const LITERALS: usize = (SEQUENCES + SEQUENCES_BYTES + 63) & ~63;
const LITERALS_BYTES: u32 = BLOCK_BYTES_MAX + 65;

/** Counts of literals in four interleaved tables, so that increments of equal neighbours do not wait for each other. */
export const LITERAL_COUNTS: usize = LITERALS + LITERALS_BYTES;
/** Counts of matches by length, 0 to 258. */
export const LENGTH_COUNTS: usize = LITERAL_COUNTS + 4 * 1024;
/** Counts by symbol of the three alphabets. */
export const SYMBOL_COUNTS: usize = LENGTH_COUNTS + 1088;
export const DISTANCE_COUNTS: usize = SYMBOL_COUNTS + 1152;
export const HEADER_COUNTS: usize = DISTANCE_COUNTS + 128;
/** Codes by symbol. */
export const SYMBOL_CODES: usize = HEADER_COUNTS + 128;
export const DISTANCE_CODES: usize = SYMBOL_CODES + 1152;
export const HEADER_CODES: usize = DISTANCE_CODES + 128;
/** For each match length, its code and extra bits as one code. */
export const LENGTH_CODES: usize = HEADER_CODES + 128;
/** The lengths of a block's codes after run-length encoding, 2 bytes each: symbol and extra bits. */
export const HEADER_RUNS: usize = LENGTH_CODES + 1088;
export const HUFFMAN: usize = HEADER_RUNS + 704;

export const INPUT: usize = (HUFFMAN + HUFFMAN_BYTES + 63) & ~63;
