import { expect, test } from 'vitest';
import { BatchBuffers, PieceBatchWriter, readBatch } from './piece-batch.ts';

const hash = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi';
const coverage = {
  slot: 7,
  hash,
  headerLine: Buffer.from('{"header":{}}\n'),
  endsWithLine: true,
  candidateShare: 0.25,
};
const long = Buffer.alloc(200_000, 'a');

function writeBatch(buffers: BatchBuffers, texts: readonly Uint8Array[]) {
  const writer = new PieceBatchWriter(buffers);
  const full = texts.flatMap((text) => writer.add(0, text, coverage));
  const last = writer.take();
  return last === undefined ? full : [...full, last];
}

/** The same memory on both sides: that of the thread and that of the pool. */
function makeBuffers() {
  const memory = BatchBuffers.make();
  return { written: new BatchBuffers(memory), read: new BatchBuffers(memory) };
}

test('default: a buffer is reused only after all pieces of its batch are released', () => {
  const { written, read } = makeBuffers();
  const writeNext = () => {
    const [batch] = writeBatch(written, [long]);
    const [piece] = readBatch(batch ?? expect.fail(), read);
    piece?.release();
    return batch?.buffer;
  };
  const [batch] = writeBatch(written, [long, Buffer.from('b'.repeat(100))]);
  const pieces = readBatch(batch ?? expect.fail(), read);
  pieces[0]?.release();
  expect(writeNext()).not.toBe(batch?.buffer);
  pieces[1]?.release();
  expect(writeNext()).toBe(batch?.buffer);
});

test('behavior: a batch in use does not change while more is written, and header lines stay valid', () => {
  const { written, read } = makeBuffers();
  const [first] = writeBatch(written, [long]);
  const [piece] = readBatch(first ?? expect.fail(), read);
  writeBatch(written, [Buffer.alloc(250_000, 'b')]);
  expect(Buffer.compare(piece?.bytes ?? Buffer.of(), long)).toBe(0);
  piece?.release();
  const [third] = writeBatch(written, [Buffer.alloc(250_000, 'c')]);
  expect(third?.buffer).toBe(first?.buffer);
  expect(Buffer.from(piece?.coverage?.headerLine ?? []).toString()).toBe('{"header":{}}\n');
  expect(piece?.coverage?.hash).toBe(hash);
  expect(piece?.coverage?.candidateShare).toBe(0.25);
});

test('limit: when all buffers are in use, batches are sent in newly allocated memory', () => {
  const { written, read } = makeBuffers();
  const batches = Array.from({ length: 100 }, (_, i) =>
    writeBatch(written, [Buffer.alloc(70_000, i)]),
  );
  const buffers = batches.flat().map(({ buffer }) => buffer);
  expect(buffers.filter((buffer) => typeof buffer === 'number')).toHaveLength(88);
  const texts = batches.flat().map((batch) => readBatch(batch, read)[0]?.bytes);
  texts.forEach((text, i) => {
    expect(Buffer.compare(text ?? Buffer.of(), Buffer.alloc(70_000, i))).toBe(0);
  });
});

test('behavior: a short text uses little memory and no buffer', () => {
  const [batch] = writeBatch(makeBuffers().written, [Buffer.from('short')]);
  const { buffer } = batch ?? expect.fail();
  if (typeof buffer === 'number') expect.fail('a short text must not use a buffer');
  expect(buffer.buffer.byteLength).toBe(buffer.length);
});

test('behavior: a piece longer than a buffer is returned as a whole', () => {
  const { written, read } = makeBuffers();
  const text = Buffer.alloc(3 << 20, 'c');
  const [batch, ...rest] = writeBatch(written, [text]);
  expect(rest).toEqual([]);
  const [piece] = readBatch(batch ?? expect.fail(), read);
  expect(Buffer.compare(piece?.bytes ?? Buffer.of(), text)).toBe(0);
  piece?.release();
});

test('behavior: compressed text has its checksum and length, with or without the plain text', () => {
  const { written, read } = makeBuffers();
  const deflated = { bytes: Buffer.from('pressed'), crc: 0xfedcba98, plainLength: 200_000 };
  for (const text of [long, Buffer.of()]) {
    const writer = new PieceBatchWriter(written);
    writer.add(3, text, coverage, deflated);
    const [piece] = readBatch(writer.take() ?? expect.fail(), read);
    expect(piece?.deflated).toMatchObject({ crc: 0xfedcba98, plainLength: 200_000 });
    expect(Buffer.from(piece?.deflated?.bytes ?? []).toString()).toBe('pressed');
    expect(Buffer.compare(piece?.bytes ?? Buffer.of(), text)).toBe(0);
    piece?.release();
  }
});
