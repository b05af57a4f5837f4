/** The checksums of data that is split into several frames, as numbers of 64 bits. Archives of different years use different ones. */

const mask = 2n ** 64n - 1n;
/** The reversed polynomial of CRC-64/GO-ISO. */
const polynomial = 0xd800000000000000n;
const table = BigUint64Array.from({ length: 256 }, (_, byte) => {
  let value = BigInt(byte);
  for (let bit = 0; bit < 8; bit++) {
    value = (value & 1n) === 1n ? (value >> 1n) ^ polynomial : value >> 1n;
  }
  return value;
});

export function crc64(bytes: Uint8Array): bigint {
  let sum = mask;
  for (const byte of bytes) {
    sum = (table[Number((sum ^ BigInt(byte)) & 0xffn)] ?? 0n) ^ (sum >> 8n);
  }
  return sum ^ mask;
}

export function fnv64a(bytes: Uint8Array): bigint {
  let sum = 0xcbf29ce484222325n;
  for (const byte of bytes) sum = ((sum ^ BigInt(byte)) * 0x100000001b3n) & mask;
  return sum;
}
