/**
 * Random signatures, generated directly as base58 digits: 2^512 is between 5 and 6 times 58^87, so 88 digits that begin with 1…4
 * decode to 64 bytes.
 */
import { elementAt } from '@sluice/base/element-at';
import type { Random } from '@sluice/base/random';
import { HEADER_BYTES, type PooledText, type TextRegion } from './text-pool.ts';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGITS = Buffer.from(ALPHABET, 'latin1');
const SIGNATURE_DIGITS = 88;
const PAIR_COUNT = 58 * 58;
/** Both digits of every pair as two bytes, so that one 16-bit load gives two digits. */
const PAIRS = new Uint16Array(PAIR_COUNT);
for (let i = 0; i < PAIR_COUNT; i++) {
  PAIRS[i] = elementAt(DIGITS, Math.floor(i / 58)) | (elementAt(DIGITS, i % 58) << 8);
}

export function drawSignature(random: Random, region: TextRegion): PooledText {
  const text = region.open(SIGNATURE_DIGITS);
  const { bytes, words } = region.pool;
  const start = text + HEADER_BYTES;
  for (let i = 0; i < SIGNATURE_DIGITS / 4; i++) {
    const word = random.uint32();
    const first = PAIRS[((word >>> 16) * PAIR_COUNT) >>> 16] as number;
    const second = PAIRS[((word & 0xffff) * PAIR_COUNT) >>> 16] as number;
    words[(start >> 2) + i] = first | (second << 16);
  }
  bytes[start] = elementAt(DIGITS, random.between(1, 4));
  return text;
}
