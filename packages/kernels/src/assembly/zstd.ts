// Zstandard frames to bytes, for code that has no other kernel at hand.
import { placeZstd, ZSTD_BYTES, zstdDecode, zstdReadBytes } from './common/zstd';

let base: usize = 0;

/** Lays out the memory, once. Returns the address for the input, which the output follows. */
export function initialize(): usize {
  base = (__heap_base + 63) & ~63;
  const end = base + ZSTD_BYTES;
  const pages = <i32>((end + 65535) >> 16);
  if (pages > memory.size()) memory.grow(pages - memory.size());
  placeZstd(base);
  return (end + 63) & ~63;
}

export function decode(input: usize, length: u32, output: usize, capacity: u32): i32 {
  return zstdDecode(input, length, output, capacity);
}

export function readBytes(input: usize): u32 {
  return zstdReadBytes(input);
}
