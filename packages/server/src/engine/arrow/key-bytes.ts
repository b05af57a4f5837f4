import { assert } from '@sluice/base/assert';
import { decodeBase58 } from '@sluice/base/base58';
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';

export const keyByteCount = 32;

/** Returns the 32 bytes of a key or hash. */
export function decodeKey(text: string): Uint8Array {
  const key = decodeBase58(text);
  assert(key !== undefined, 'the text of a key is base58');
  return key;
}

/** Returns a key in the kernel's memory. A key whose text was needed before is in memory only as a text. */
export function keyBytesAt(at: number, bytes: Uint8Array): Uint8Array {
  const length = bytes[at + KEY_TEXT_BYTES - 1] ?? 0;
  if (length === 0) return bytes.subarray(at, at + keyByteCount);
  return decodeKey(Buffer.from(bytes.subarray(at + 1, at + length - 1)).toString('latin1'));
}
