/** Returns decimal text, such as `-12.050`, in the binary form of a numeric: digits of base 10,000, aligned at the decimal point. */
export function encodeNumeric(text: string): Uint8Array {
  const isNegative = text.startsWith('-');
  const [whole = '', fraction = ''] = (isNegative ? text.slice(1) : text).split('.');
  const digits = [
    ...groupsOf(whole.padStart(Math.ceil(whole.length / 4) * 4, '0')),
    ...groupsOf(fraction.padEnd(Math.ceil(fraction.length / 4) * 4, '0')),
  ];
  const bytes = new DataView(new ArrayBuffer(8 + digits.length * 2));
  bytes.setInt16(0, digits.length);
  bytes.setInt16(2, Math.ceil(whole.length / 4) - 1);
  bytes.setUint16(4, isNegative ? 0x4000 : 0);
  bytes.setInt16(6, fraction.length);
  for (const [i, digit] of digits.entries()) bytes.setInt16(8 + i * 2, digit);
  return new Uint8Array(bytes.buffer);
}

function groupsOf(text: string): number[] {
  return Array.from({ length: text.length / 4 }, (_, i) => Number(text.slice(i * 4, i * 4 + 4)));
}
