import { expect, test } from 'vitest';
import { copyBytes } from './copy-bytes.ts';

const patternOf = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 7 + 3) % 251);
const memories = {
  ordinary: (length: number) => new Uint8Array(length),
  shared: (length: number) => new Uint8Array(new SharedArrayBuffer(length)),
} as const;

for (const [from, makeSource] of Object.entries(memories)) {
  for (const [to, makeTarget] of Object.entries(memories)) {
    test.each([0, 1, 1_023, 1_024, 1_025, 100_003])(
      `default: copies %i bytes from ${from} to ${to} memory, at any address, and changes no others`,
      (length) => {
        const source = makeSource(length + 3).subarray(3);
        source.set(patternOf(length));
        const target = makeTarget(length + 20).fill(255);
        copyBytes(target.subarray(1), 4, source);
        const expected = [...Array(5).fill(255), ...patternOf(length), ...Array(15).fill(255)];
        expect(Buffer.compare(target, Uint8Array.from(expected))).toBe(0);
      },
    );
  }
}

test('error: bytes that do not fit are refused', () => {
  for (const length of [100, 5_000]) {
    const target = new Uint8Array(length);
    expect(() => copyBytes(target, 1, new Uint8Array(length))).toThrow(RangeError);
  }
});
