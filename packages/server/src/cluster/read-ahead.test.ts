import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReadAhead } from './read-ahead.ts';

const content = Uint8Array.from({ length: 5_500_000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff);

test('property: any ranges are read as they are', async () => {
  const position = fc.integer({ min: 0, max: content.length });
  const length = fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 3 << 20 }));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(position, length), { maxLength: 12 }), async (ranges) => {
      const reader = new ReadAhead(content.length, async (at, count) =>
        content.subarray(at, at + count),
      );
      for (const [at, count] of ranges) {
        const bytes = await reader.read(at, count);
        expect(Buffer.compare(bytes, content.subarray(at, at + count))).toBe(0);
      }
    }),
    { numRuns: 50 },
  );
});

test('limit: bytes that are read in order in two places are requested once', async () => {
  const requests: number[] = [];
  const reader = new ReadAhead(content.length, async (at, count) => {
    requests.push(at);
    return content.subarray(at, at + count);
  });
  for (let at = 0; at < 2_500_000; at += 100_000) {
    await reader.read(at, 100_000);
    await reader.read(2_700_000 + at, 50_000);
  }
  expect(requests.length).toBe(new Set(requests).size);
});

test('behavior: a failed request is that of the read that needs its bytes, and the next read repeats it', async () => {
  let isDown = false;
  const reader = new ReadAhead(content.length, async (at, count) => {
    if (isDown) throw new Error('down');
    return content.subarray(at, at + count);
  });
  await reader.read(0, 10);
  isDown = true;
  await expect(reader.read(2 << 20, 10)).rejects.toThrow('down');
  expect(await reader.read(0, 10)).toEqual(content.subarray(0, 10));
  isDown = false;
  expect(await reader.read(2 << 20, 10)).toEqual(content.subarray(2 << 20, (2 << 20) + 10));
});
