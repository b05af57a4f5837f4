// Compresses text to raw deflate (RFC 1951), optimized for responses: JSON with long repetitions between incompressible values. The same text
// gives the same bytes on every machine. Each text is compressed separately and ends at a byte boundary, so that concatenated outputs are
// one stream. The caller writes the last block.
import { BLOCK_BYTES_MAX, INPUT, SHORT_TEXT_BYTES_MAX } from './deflate/deflate-memory';
import { beginStream, flushStream, writeBlock } from './deflate/deflate-block';
import { beginSearch, searchBlock } from './deflate/deflate-search';
import { beginShortSearch, searchShortText } from './deflate/deflate-search-short';
import { beginSequences } from './deflate/deflate-sequences';

/** The maximum overhead of a stored block, and of the end of the output. */
const STORED_BYTES: u32 = 6;
/** Words and vectors are read and written beyond the ends of input and output. */
const SPARE_BYTES: u32 = 64;

/** Returns the address of the input. */
export function inputAddress(): usize {
  return INPUT;
}

/** Returns the address of the output for a text of this length. */
export function outputAddress(length: u32): usize {
  return (INPUT + length + SPARE_BYTES + 63) & ~63;
}

/** Returns the required memory for a text of this length. */
export function memoryBytes(length: u32): usize {
  const blockCount = length / BLOCK_BYTES_MAX + 1;
  return outputAddress(length) + length + (blockCount + 1) * STORED_BYTES + SPARE_BYTES;
}

/** Compresses the text of `length` bytes at the input. Returns the length of the output. */
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
