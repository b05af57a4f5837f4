import { afterAll, expect, test } from 'vitest';
import { EnginePool } from '../engine/threads/engine-pool.ts';
import { idleBytesMax, idleCountMax, OpenSegments } from './open-segments.ts';

const pool = new EnginePool({ threadCount: 1, cacheBytesMax: 1 << 20 });
afterAll(() => pool.stop());

/** Every segment of a pool has its own key. */
let openedCount = 0;

/** Opens and leaves segments one after another. Returns which of them are still open. */
function openAll(count: number, bytesOf: () => Uint8Array): boolean[] {
  const segments = new OpenSegments(pool);
  const keys = Array.from({ length: count }, () => String(openedCount++));
  for (const key of keys) {
    segments.open(key, { kind: 'memory', bytes: bytesOf() });
    segments.use(key);
    segments.leave(key);
  }
  return keys.map((key) => segments.has(key));
}

test('limit: an open segment counts with the full capacity of its buffer', () => {
  const bufferBytes = idleBytesMax / 4;
  const bytesOf = () => new Uint8Array(new SharedArrayBuffer(bufferBytes), 0, 10);
  expect(openAll(6, bytesOf)).toEqual([false, false, true, true, true, true]);
});

test('limit: the number of open segments is limited, even if they are small', () => {
  const left = openAll(idleCountMax + 2, () => new Uint8Array(new SharedArrayBuffer(16)));
  expect(left.indexOf(true)).toBe(2);
  expect(left.slice(2).every((isOpen) => isOpen)).toBe(true);
});
