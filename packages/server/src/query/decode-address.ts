const addressBytes = 32;
const textLengthMax = 44;
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const digitOf = new Int8Array(128).fill(-1);
for (let digit = 0; digit < alphabet.length; digit++) digitOf[alphabet.charCodeAt(digit)] = digit;

/**
 * The 32 bytes of an address, or `undefined` if the text is not base58 of exactly that many. A query may bring 10,000 of
 * them to the thread that answers everybody, hence a decoder for this one length instead of a general one.
 */
export function decodeAddress(text: string): Uint8Array | undefined {
  if (text.length < addressBytes || text.length > textLengthMax) return undefined;
  // Eight limbs of 32 bits, the least significant first.
  const limbs = new Float64Array(8);
  for (let at = 0; at < text.length; at++) {
    const digit = digitOf[text.charCodeAt(at)] ?? -1;
    if (digit < 0) return undefined;
    let carry = digit;
    for (let limb = 0; limb < 8; limb++) {
      const sum = (limbs[limb] as number) * 58 + carry;
      carry = Math.floor(sum / 0x1_0000_0000);
      limbs[limb] = sum % 0x1_0000_0000;
    }
    if (carry !== 0) return undefined;
  }
  const bytes = new Uint8Array(addressBytes);
  const view = new DataView(bytes.buffer);
  for (let limb = 0; limb < 8; limb++) view.setUint32(28 - 4 * limb, limbs[limb] as number);
  return leadingZeros(bytes) === leadingOnes(text) ? bytes : undefined;
}

/** In base58 every leading `1` is one leading zero byte, so only one text stands for an address. */
function leadingOnes(text: string): number {
  let count = 0;
  while (text[count] === '1') count++;
  return count;
}

function leadingZeros(bytes: Uint8Array): number {
  let count = 0;
  while (bytes[count] === 0) count++;
  return count;
}
