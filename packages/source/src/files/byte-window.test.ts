import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWindow, type ReadInto } from './byte-window.ts';

const windowBytes = 16;
const streamOf = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 7 + 3) % 251);

/** Reads a stream a few bytes at a time. */
function readerOf(stream: Uint8Array, chunkBytes: number): ReadInto {
  let at = 0;
  return (target) => {
    const part = stream.subarray(at, at + Math.min(chunkBytes, target.length));
    target.set(part);
    at += part.length;
    return Promise.resolve(part.length);
  };
}

test('property: filling the window and taking bytes give the bytes of the stream, with their offset', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(5), fc.nat(60)), { maxLength: 12 }),
      fc.integer({ min: 1, max: 40 }),
      async (steps, chunkBytes) => {
        const stream = streamOf(steps.reduce((sum, [skipped, taken]) => sum + skipped + taken, 0));
        const window = new ByteWindow(readerOf(stream, chunkBytes), windowBytes);
        let offset = 0;
        for (const [skipped, taken] of steps) {
          expect(await window.fill(skipped)).toBe(true);
          const seen = window.bytes.slice(window.at, window.at + skipped);
          expect(seen).toEqual(stream.slice(offset, offset + skipped));
          window.at += skipped;
          offset += skipped;
          const target = new Uint8Array(taken);
          expect(await window.take(target)).toBe(true);
          expect(target).toEqual(stream.slice(offset, offset + taken));
          offset += taken;
          expect(window.offset).toBe(offset);
        }
        expect(await window.fill(1)).toBe(false);
      },
    ),
  ));

test('error: bytes beyond the end of the stream cannot be taken', async () => {
  for (const length of [3, 40]) {
    const window = new ByteWindow(readerOf(streamOf(length), 7), windowBytes);
    expect(await window.fill(2)).toBe(true);
    expect(await window.take(new Uint8Array(length + 1))).toBe(false);
  }
});
