// Raw deflate (RFC 1951) of a text, made for answers: JSON with long repetitions between values that do not compress. The
// same text gives the same bytes on every machine. Each text is compressed by itself and ends on a byte, so that the
// outputs of several, one after the other, are one stream; only its last block is left to whoever ends it.
import { BLOCK_BYTES_MAX, INPUT, SHORT_TEXT_BYTES_MAX } from './shared/deflate-memory';
import { beginStream, flushStream, writeBlock } from './shared/deflate-block';
import { beginSearch, searchBlock } from './shared/deflate-search';
import { beginShortSearch, searchShortText } from './shared/deflate-search-short';
import { beginSequences } from './shared/deflate-sequences';

/** The most that a block stored as it is takes beyond its text; so does the end of the output. */
const STORED_BYTES: u32 = 6;
/** Words and vectors are read and written beyond the ends of input and output. */
const SPARE_BYTES: u32 = 64;

/** Where the host puts the text. */
export function inputAddress(): usize {
  return INPUT;
}

/** Where the output of a text of that length begins. */
export function outputAddress(length: u32): usize {
  return (INPUT + length + SPARE_BYTES + 63) & ~63;
}

/** How large the memory must be for a text of that length. */
export function memoryBytes(length: u32): usize {
  const blockCount = length / BLOCK_BYTES_MAX + 1;
  return outputAddress(length) + length + (blockCount + 1) * STORED_BYTES + SPARE_BYTES;
}

/** Compresses the text of so many bytes at the input and answers how many are at its output. */
export function deflate(length: u32): u32 {
  const output = outputAddress(length);
  beginStream(output);
  if (length > SHORT_TEXT_BYTES_MAX) deflateLong(INPUT + length);
  else if (length > 0) deflateShort(INPUT + length);
  return <u32>(flushStream() - output);
}

function deflateLong(end: usize): void {
  beginSearch();
  for (let start = INPUT; start < end; ) {
    const next = min<usize>(start + BLOCK_BYTES_MAX, end);
    beginSequences();
    searchBlock(start, next);
    writeBlock(start, <u32>(next - start));
    start = next;
  }
}

function deflateShort(end: usize): void {
  beginShortSearch();
  beginSequences();
  searchShortText(end);
  writeBlock(INPUT, <u32>(end - INPUT));
}
