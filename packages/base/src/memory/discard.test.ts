import { expect, test } from 'vitest';
import { discard } from './discard.ts';

const mebibyte = 1 << 20;

test('default: the memory is freed at once, not at the next garbage collection', () => {
  const before = process.memoryUsage().arrayBuffers;
  const buffers = Array.from({ length: 16 }, () => new Uint8Array(mebibyte));
  for (const bytes of buffers) discard(bytes);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(mebibyte);
  expect(buffers.map(({ length }) => length)).toEqual(buffers.map(() => 0));
});

test('behavior: pooled, shared, partial and already discarded buffers are left unchanged', () => {
  const pooled = Buffer.from('text');
  discard(pooled);
  expect(pooled.toString()).toBe('text');
  const shared = new Uint8Array(new SharedArrayBuffer(mebibyte));
  discard(shared);
  expect(shared.length).toBe(mebibyte);
  const whole = new Uint8Array(mebibyte);
  discard(whole.subarray(1));
  expect(whole.length).toBe(mebibyte);
  const twice = new Uint8Array(mebibyte);
  discard(twice);
  discard(twice);
  expect(twice.length).toBe(0);
});
