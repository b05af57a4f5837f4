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

/**
 * How many bytes at the start of the data name the instruction, for programs whose length is fixed and not the usual 8. The
 * data behind a shorter discriminator are amounts and accounts, which do not distinguish instructions.
 */
export const DISCRIMINATOR_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['11111111111111111111111111111111', 4],
  ['Stake11111111111111111111111111111111111111', 4],
  ['Vote111111111111111111111111111111111111111', 4],
  ['AddressLookupTab1e1111111111111111111111111', 4],
  ['BPFLoaderUpgradeab1e11111111111111111111111', 4],
  ['BPFLoader2111111111111111111111111111111111', 4],
  ['ComputeBudget111111111111111111111111111111', 1],
  ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 1],
  ['TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb', 1],
  ['ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL', 1],
  ['MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', 0],
  ['Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo', 0],
  ['Ed25519SigVerify111111111111111111111111111', 0],
  ['KeccakSecp256k11111111111111111111111111111', 0],
  ['Secp256r1SigVerify1111111111111111111111111', 0],
]);
