import { SluiceError } from './sluice-error.ts';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** The time to decode grows with the square of the length. No value of a ledger is longer than this. */
const textLengthMax = 20_000;
const addressBytes = 32;
const addressLengthMax = 44;

/** Returns base58 text: a number in base 58, where each leading zero byte becomes one leading `1`. */
export function encodeBase58(bytes: Uint8Array): string {
  const digits: number[] = [];
  for (const byte of bytes) {
    let carry = byte;
    for (let i = 0; i < digits.length; i++) {
      carry += (digits[i] as number) << 8;
      digits[i] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58);
  }
  const zeroCount = bytes.findIndex((byte) => byte !== 0);
  const ones = '1'.repeat(zeroCount < 0 ? bytes.length : zeroCount);
  return (
    ones +
    digits
      .reverse()
      .map((digit) => alphabet.charAt(digit))
      .join('')
  );
}

/** Returns the bytes of base58 text, as instruction data, addresses, hashes and signatures are written. */
export function decodeBase58(text: string): Uint8Array {
  const bytes = tryDecode(text);
  if (bytes === undefined) throw new SluiceError('base58-invalid', { detail: quote(text) });
  return bytes;
}

/** Returns the text if it is an address: base58 of 32 bytes. */
export function parseAddress(text: string): string {
  if (isAddress(text)) return text;
  throw new SluiceError('base58-invalid', {
    detail: `an address is base58 of 32 bytes, not ${quote(text)}`,
  });
}

export function isAddress(text: string): boolean {
  return text.length <= addressLengthMax && tryDecode(text)?.length === addressBytes;
}

function tryDecode(text: string): Uint8Array | undefined {
  if (text.length > textLengthMax) return undefined;
  const bytes: number[] = [];
  for (const character of text) {
    let carry = alphabet.indexOf(character);
    if (carry < 0) return undefined;
    for (let i = 0; i < bytes.length; i++) {
      carry += (bytes[i] as number) * 58;
      bytes[i] = carry & 0xff;
      carry >>= 8;
    }
    for (; carry > 0; carry >>= 8) bytes.push(carry & 0xff);
  }
  for (let i = 0; i < text.length && text.charAt(i) === '1'; i++) bytes.push(0);
  return Uint8Array.from(bytes.reverse());
}

function quote(text: string): string {
  return text.length > 100 ? `"${text.slice(0, 100)}…"` : `"${text}"`;
}
