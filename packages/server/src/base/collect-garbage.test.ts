import { expect, test } from 'vitest';
import { collectGarbage } from './collect-garbage.ts';

test('behavior: memory that nobody reads any more is free at once', () => {
  const make = () => Array.from({ length: 64 }, () => new Uint8Array(1 << 20).fill(1));
  let held: Uint8Array[] | undefined = make();
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  expect(held.at(-1)?.at(-1)).toBe(1);
  held = undefined;
  collectGarbage();
  expect(before - process.memoryUsage().arrayBuffers).toBeGreaterThan(60 << 20);
});
