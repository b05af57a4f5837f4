import { decodeBase58 } from '@sluice/base/base58';

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Returns the first `byteCount` bytes of base58 data as `0x` and lower-case hex, or null if the data is shorter. */
export function discriminator(data: string, byteCount: number): string | null {
  // A base58 character encodes less than one byte, so a shorter text cannot hold enough bytes.
  if (data.length < byteCount) return null;
  const bytes = decodeBase58(data);
  if (bytes === undefined || bytes.length < byteCount) return null;
  let text = '0x';
  for (let i = 0; i < byteCount; i++) text += hexPairs[bytes[i] as number] as string;
  return text;
}
