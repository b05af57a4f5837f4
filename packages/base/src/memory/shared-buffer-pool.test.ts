import { expect, test } from 'vitest';
import { SharedBufferPool } from './shared-buffer-pool.ts';

const options = { countMax: 3, bytesMax: 1_000, granuleBytes: 100 };
const bufferOf = (view: Uint8Array | undefined) => view?.buffer as SharedArrayBuffer;

test('default: a returned buffer is reused, the smallest that is long enough first', () => {
  const pool = new SharedBufferPool(options);
  const [long, short] = [pool.take(350), pool.take(120)];
  expect([long?.length, short?.length]).toEqual([350, 120]);
  pool.release(bufferOf(long));
  pool.release(bufferOf(short));
  expect(bufferOf(pool.take(90))).toBe(bufferOf(short));
  expect(bufferOf(pool.take(90))).toBe(bufferOf(long));
});

test('limit: buffers that are never returned count towards the limit', () => {
  const pool = new SharedBufferPool(options);
  const taken = [1, 2, 3, 4].map(() => pool.take(10));
  expect(taken.map((buffer) => buffer?.length)).toEqual([10, 10, 10, undefined]);
  pool.release(bufferOf(taken[0]));
  expect(pool.take(10)?.length).toBe(10);
});

test('limit: the total size is limited, and free buffers are dropped for a longer one', () => {
  const pool = new SharedBufferPool(options);
  const [first, second] = [pool.take(450), pool.take(450)];
  expect(pool.take(450)).toBeUndefined();
  pool.release(bufferOf(first));
  pool.release(bufferOf(second));
  expect(pool.take(900)?.length).toBe(900);
});

test('limit: a free buffer that was not chosen for long is dropped', () => {
  const pool = new SharedBufferPool({ ...options, unusedTakeCountMax: 32 });
  const taken = [1, 2, 3].map(() => pool.take(10));
  for (const buffer of taken) pool.release(bufferOf(buffer));
  for (let i = 0; i < 40; i++) {
    const buffer = pool.take(10);
    expect(bufferOf(buffer)).toBe(bufferOf(taken[2]));
    pool.release(bufferOf(buffer));
  }
  const again = [1, 2, 3].map(() => bufferOf(pool.take(10)));
  expect(again[0]).toBe(bufferOf(taken[2]));
  expect(again).not.toContain(bufferOf(taken[0]));
  expect(again.map((buffer) => buffer.byteLength)).toEqual([100, 100, 100]);
});
