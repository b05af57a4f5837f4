import { getBase58Decoder, type ReadonlyUint8Array } from '@solana/kit';

const texts = new Map<string, string>();

/** Base58 of instruction data, cached, because the time grows with the square of the length and data repeats. */
export function toBase58(bytes: ReadonlyUint8Array | undefined): string {
  const key = Buffer.from((bytes ?? []) as Uint8Array).toString('latin1');
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = bytes === undefined ? '' : getBase58Decoder().decode(bytes);
  texts.set(key, text);
  return text;
}
