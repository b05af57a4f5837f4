import { expect, test } from 'vitest';
import { SpareRooms } from './spare-rooms.ts';

const megabyte = 1024 * 1024;

test('default: a room that was given back is used again', () => {
  const rooms = new SpareRooms({ bytesMax: 8 * megabyte });
  const first = rooms.take(3 * megabyte - 5);
  expect(first).toHaveLength(3 * megabyte - 5);
  rooms.giveBack(first);
  const second = rooms.take(3 * megabyte);
  expect(second).toHaveLength(3 * megabyte);
  expect(second.buffer === first.buffer).toBe(true);
  expect((rooms.take(3 * megabyte).buffer === first.buffer) === false).toBe(true);
});

test('behavior: the room is large enough and not twice as large, the smallest of those', () => {
  const rooms = new SpareRooms({ bytesMax: 64 * megabyte });
  const given = [9, 4, 3, 2].map((size) => rooms.take(size * megabyte));
  for (const bytes of given) rooms.giveBack(bytes);
  expect(rooms.take(2.5 * megabyte).buffer === given[2]?.buffer).toBe(true);
  expect(rooms.take(2.5 * megabyte).buffer === given[1]?.buffer).toBe(true);
  const made = rooms.take(2.5 * megabyte).buffer;
  expect(given.some(({ buffer }) => buffer === made)).toBe(false);
});

test('behavior: bytes from elsewhere are never handed out', () => {
  const rooms = new SpareRooms({ bytesMax: 8 * megabyte });
  const other = Buffer.alloc(megabyte);
  rooms.giveBack(other);
  expect((rooms.take(megabyte).buffer === other.buffer) === false).toBe(true);
});

test('limit: no more than so many bytes lie idle, the youngest of them', () => {
  const rooms = new SpareRooms({ bytesMax: 2 * megabyte });
  const given = [1, 2, 3].map(() => rooms.take(megabyte));
  for (const bytes of given) rooms.giveBack(bytes);
  const taken = [1, 2, 3].map(() => rooms.take(megabyte).buffer);
  const found = taken.map((room) => given.findIndex(({ buffer }) => buffer === room));
  expect(found).toEqual([1, 2, -1]);
});
