import { expect, test } from 'vitest';
import { BatchBuffers, PieceBatchWriter, readBatch } from './piece-batch.ts';

const coverage = { slot: 7, headerLine: Buffer.from('{"header":{}}\n'), endsWithLine: true };
const long = Buffer.alloc(200_000, 'a');

function writeBatch(buffers: BatchBuffers, texts: readonly Uint8Array[]) {
  const writer = new PieceBatchWriter(buffers);
  const full = texts.flatMap((text) => writer.add(0, text, coverage));
  const last = writer.take();
  return last === undefined ? full : [...full, last];
}

test('default: a buffer comes back when all pieces of its batch are released', () => {
  const given: SharedArrayBuffer[] = [];
  const [batch] = writeBatch(new BatchBuffers(), [long, Buffer.from('b'.repeat(100))]);
  const pieces = readBatch(batch ?? expect.fail(), (buffer) => given.push(buffer));
  pieces[0]?.release();
  expect(given).toEqual([]);
  pieces[1]?.release();
  expect(given).toHaveLength(1);
  expect(given[0]).toBe(batch?.bytes.buffer);
});

test('behavior: a buffer that came back is the next one used; header lines of before stay', () => {
  const buffers = new BatchBuffers();
  const [first] = writeBatch(buffers, [long]);
  const [piece] = readBatch(first ?? expect.fail(), (buffer) => buffers.put(buffer));
  piece?.release();
  const [second] = writeBatch(buffers, [Buffer.alloc(250_000, 'b')]);
  expect(second?.bytes.buffer).toBe(first?.bytes.buffer);
  expect(Buffer.from(piece?.coverage?.headerLine ?? []).toString()).toBe('{"header":{}}\n');
});

test('behavior: little text takes little memory', () => {
  const [batch] = writeBatch(new BatchBuffers(), [Buffer.from('short')]);
  expect(batch?.bytes.buffer.byteLength).toBe(batch?.bytes.length);
});

test('behavior: a piece longer than a buffer comes whole', () => {
  const text = Buffer.alloc(3 << 20, 'c');
  const [batch, ...rest] = writeBatch(new BatchBuffers(), [text]);
  expect(rest).toEqual([]);
  const [piece] = readBatch(batch ?? expect.fail(), () => expect.fail());
  expect(Buffer.compare(piece?.bytes ?? Buffer.of(), text)).toBe(0);
  piece?.release();
});
