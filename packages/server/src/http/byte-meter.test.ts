import { expect, test } from 'vitest';
import { ByteMeter, HeldBytes } from './byte-meter.ts';

test('limit: the meter is full at its limit, which may change', () => {
  let bytesMax = 10;
  const meter = new ByteMeter(() => bytesMax);
  meter.add(9);
  expect([meter.bytes, meter.isFull]).toEqual([9, false]);
  meter.add(1);
  expect([meter.bytes, meter.isFull]).toEqual([10, true]);
  bytesMax = 11;
  expect(meter.isFull).toBe(false);
  meter.remove(4);
  expect(meter.bytes).toBe(6);
});

test('behavior: a request releases what it holds, once', () => {
  const meter = new ByteMeter(() => 10);
  const first = new HeldBytes(meter);
  const second = new HeldBytes(meter);
  expect([first.take(6), second.take(3), first.take(4)]).toEqual([true, true, true]);
  expect(meter.bytes).toBe(13);
  // The limit is reached, so nothing is added.
  expect(second.take(1)).toBe(false);
  expect(meter.bytes).toBe(13);
  first.release();
  expect(meter.bytes).toBe(3);
  first.release();
  expect(meter.bytes).toBe(3);
  second.release();
  expect(meter.bytes).toBe(0);
});
