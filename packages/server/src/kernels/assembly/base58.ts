// Decodes base58 text.
import { BASE58_CHARACTERS_MAX } from '../layout/reading';
import { BASE58_DECODE_BYTES, base58Decode, base58DecodeInitialize } from './common/base58-decode';

const input: usize = (__heap_base + 63) & ~63;
const output: usize = input + BASE58_CHARACTERS_MAX + 64;
const tables: usize = output + BASE58_CHARACTERS_MAX + 64;

export function inputAddress(): usize {
  return input;
}

export function outputAddress(): usize {
  return output;
}

export function memoryBytes(): usize {
  return tables + BASE58_DECODE_BYTES;
}

export function initialize(): void {
  base58DecodeInitialize(tables);
}

/** Decodes the text at the input. Returns the number of bytes at the output, or -1 if a character is not base58. */
export function decode(length: u32): i32 {
  return base58Decode(input, length, output);
}
