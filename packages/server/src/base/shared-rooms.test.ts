import { expect, test } from 'vitest';
import { SharedRooms } from './shared-rooms.ts';

const options = { countMax: 3, bytesMax: 1_000, granuleBytes: 100 };
const bufferOf = (room: Uint8Array | undefined) => room?.buffer as SharedArrayBuffer;

test('default: a room that came back is used again, the shortest that suffices', () => {
  const rooms = new SharedRooms(options);
  const [long, short] = [rooms.take(350), rooms.take(120)];
  expect([long?.length, short?.length]).toEqual([350, 120]);
  rooms.put(bufferOf(long));
  rooms.put(bufferOf(short));
  expect(bufferOf(rooms.take(90))).toBe(bufferOf(short));
  expect(bufferOf(rooms.take(90))).toBe(bufferOf(long));
});

test('limit: rooms that do not come back are not replaced for ever', () => {
  const rooms = new SharedRooms(options);
  const taken = [1, 2, 3, 4].map(() => rooms.take(10));
  expect(taken.map((room) => room?.length)).toEqual([10, 10, 10, undefined]);
  rooms.put(bufferOf(taken[0]));
  expect(rooms.take(10)?.length).toBe(10);
});

test('limit: together they have so many bytes, and spare ones make room for a longer', () => {
  const rooms = new SharedRooms(options);
  const [first, second] = [rooms.take(450), rooms.take(450)];
  expect(rooms.take(450)).toBeUndefined();
  rooms.put(bufferOf(first));
  rooms.put(bufferOf(second));
  expect(rooms.take(900)?.length).toBe(900);
});

test('limit: rooms that are passed over for long are forgotten, and make room for others', () => {
  const rooms = new SharedRooms({ ...options, passedCountMax: 32 });
  const taken = [1, 2, 3].map(() => rooms.take(10));
  for (const room of taken) rooms.put(bufferOf(room));
  for (let i = 0; i < 40; i++) {
    const room = rooms.take(10);
    expect(bufferOf(room)).toBe(bufferOf(taken[2]));
    rooms.put(bufferOf(room));
  }
  const again = [1, 2, 3].map(() => bufferOf(rooms.take(10)));
  expect(again[0]).toBe(bufferOf(taken[2]));
  expect(again).not.toContain(bufferOf(taken[0]));
  expect(again.map((room) => room.byteLength)).toEqual([100, 100, 100]);
});
