import { expect, test } from 'vitest';
import { SharedRooms } from './shared-rooms.ts';

const megabyte = 1 << 20;
const isShared = ({ buffer }: Uint8Array) => buffer instanceof SharedArrayBuffer;

test('default: a room that came back is used again', () => {
  const rooms = new SharedRooms();
  const first = rooms.take(3 * megabyte);
  expect([first.length, isShared(first)]).toEqual([3 * megabyte, true]);
  rooms.put(first.buffer as SharedArrayBuffer);
  expect(rooms.take(2 * megabyte).buffer).toBe(first.buffer);
});

test('behavior: what is short has memory of its own', () => {
  expect(isShared(new SharedRooms().take(1_000))).toBe(false);
});

test('limit: rooms that do not come back are not replaced for ever', () => {
  const rooms = new SharedRooms();
  const taken = Array.from({ length: 40 }, () => rooms.take(megabyte));
  expect(taken.filter(isShared).length).toBe(24);
  expect(taken.every(({ length }) => length === megabyte)).toBe(true);
  const large = Array.from({ length: 5 }, () => new SharedRooms()).map((one) =>
    one.take(64 * megabyte),
  );
  expect(large.every(isShared)).toBe(true);
});

test('limit: together they have 128 MB at most, and a short spare one makes room for a longer', () => {
  const rooms = new SharedRooms();
  const [first, second] = [rooms.take(60 * megabyte), rooms.take(60 * megabyte)];
  expect(isShared(rooms.take(60 * megabyte))).toBe(false);
  rooms.put(first?.buffer as SharedArrayBuffer);
  rooms.put(second?.buffer as SharedArrayBuffer);
  expect(isShared(rooms.take(64 * megabyte))).toBe(true);
});
