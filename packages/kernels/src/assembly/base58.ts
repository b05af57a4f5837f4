// Decodes base58 text, and encodes bytes.
import { BASE58_CHARACTERS_MAX } from '../layout/reading';
import { base58Encode, base58Initialize, BASE58_TABLE_BYTES } from './common/base58';
import { BASE58_DECODE_BYTES, base58Decode, base58DecodeInitialize } from './common/base58-decode';

const input: usize = (__heap_base + 63) & ~63;
const output: usize = input + BASE58_CHARACTERS_MAX + 64;
const tables: usize = output + BASE58_CHARACTERS_MAX + 64;
const powers: usize = (tables + BASE58_DECODE_BYTES + 63) & ~63;

export function inputAddress(): usize {
  return input;
}

export function outputAddress(): usize {
  return output;
}

export function memoryBytes(): usize {
  return powers + BASE58_TABLE_BYTES;
}

export function initialize(): void {
  base58DecodeInitialize(tables);
  base58Initialize(powers);
}

/** Decodes the text at the input. Returns the number of bytes at the output, or -1 if a character is not base58. */
export function decode(length: u32): i32 {
  return base58Decode(input, length, output);
}

/** Encodes the bytes at the input, at most 1,280. Returns the number of characters at the output. */
export function encode(length: u32): u32 {
  return <u32>(base58Encode(input, length, output) - output);
}
