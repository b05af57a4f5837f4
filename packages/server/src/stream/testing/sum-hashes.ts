import { createHash } from 'node:crypto';

/** Returns the sum of the SHA-256 of each line without its line feed, modulo 2^256: the digest of a range. */
export function sumHashes(lines: readonly string[]): string {
  let sum = 0n;
  for (const line of lines)
    sum += BigInt(`0x${createHash('sha256').update(line.trimEnd()).digest('hex')}`);
  return (sum % 2n ** 256n).toString(16).padStart(64, '0');
}
