import { decodeBase58 } from './base58.ts';

/** Returns `0x` and lower-case hex, the form of the filters `d1` to `d8` and `discriminator`. */
export function toHex(bytes: Uint8Array): string {
  let text = '0x';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** Returns the first bytes of base58 instruction data as hex, or `undefined` if the data is shorter. */
export function dataPrefix(data: string, byteCount: number): string | undefined {
  const bytes = decodeBase58(data);
  return bytes.length < byteCount ? undefined : toHex(bytes.subarray(0, byteCount));
}

/**
 * Returns the eight bytes that identify an instruction of an Anchor program, for the filter `d8`: the start of the SHA-256 of `global:`
 * and the name in snake case, for example `anchorDiscriminator('swap_base_in')`. An event has the namespace `event` and its name in
 * Pascal case.
 */
export async function anchorDiscriminator(name: string, namespace = 'global'): Promise<string> {
  const text = new TextEncoder().encode(`${namespace}:${name}`);
  const digest = await crypto.subtle.digest('SHA-256', text);
  return toHex(new Uint8Array(digest, 0, 8));
}
