import * as zlib from 'node:zlib';
import { expect, test } from 'vitest';
import { LinePiece } from '../../stream/line-piece.ts';
import { createLineEncoder } from './line-encoder.ts';

const texts = ['{"a":1}\n', '', `${'x'.repeat(100_000)}\n`, '{"b":2}\n'];
const pieces = texts.map((text) => {
  const bytes = Buffer.from(text);
  // The long text is in two parts, like a line that is longer than the engine's buffer.
  return new LinePiece(bytes.subarray(0, 70_000), bytes.subarray(70_000));
});

async function encodeAll(encoding: 'gzip' | 'zstd' | 'identity'): Promise<Buffer> {
  const encoder = createLineEncoder(encoding);
  const parts: Uint8Array[] = [];
  for (const piece of pieces) parts.push(...(await encoder.encode(piece)));
  return Buffer.concat([...parts, await encoder.end()]);
}

test('default: pieces become one gzip member that any decoder can read', async () => {
  const bytes = await encodeAll('gzip');
  expect(zlib.gunzipSync(bytes).toString()).toBe(texts.join(''));
});

test('behavior: each piece can be decoded before the next one arrives', async () => {
  const encoder = createLineEncoder('gzip');
  const gunzip = zlib.createGunzip();
  let text = '';
  gunzip.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  for (const part of await encoder.encode(pieces[0] as LinePiece)) gunzip.write(part);
  await new Promise<void>((resolve) => gunzip.flush(() => resolve()));
  expect(text).toBe(texts[0]);
});

test('behavior: without pieces the result is a valid empty gzip member', async () => {
  expect(zlib.gunzipSync(await createLineEncoder('gzip').end())).toHaveLength(0);
});

test('behavior: a piece is compressed once for all clients', async () => {
  const piece = new LinePiece(Buffer.from('line\n'));
  expect(piece.deflated()).toBe(piece.deflated());
});

test.runIf('zstdDecompressSync' in zlib)('behavior: zstd decodes to the same text', async () => {
  const { zstdDecompressSync } = zlib as unknown as {
    zstdDecompressSync: (bytes: Uint8Array) => Buffer;
  };
  expect(zstdDecompressSync(await encodeAll('zstd')).toString()).toBe(texts.join(''));
});

test('default: the encoding identity sends the parts as they are', async () => {
  const encoder = createLineEncoder('identity');
  const piece = pieces[2] as LinePiece;
  expect(encoder.isReady(piece)).toBe(true);
  expect(encoder.encode(piece)).toBe(piece.parts);
  expect(await encoder.end()).toHaveLength(0);
});

test('behavior: a compressed piece is encoded without a promise, and the header comes once', async () => {
  const encoder = createLineEncoder('gzip');
  const piece = new LinePiece(Buffer.from('line\n'));
  expect(encoder.isReady(piece)).toBe(false);
  await piece.deflated();
  expect(encoder.isReady(piece)).toBe(true);
  const [first] = encoder.encode(piece) as readonly Uint8Array[];
  expect([...(first?.subarray(0, 10) ?? [])]).toEqual([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
  const [second] = encoder.encode(piece) as readonly Uint8Array[];
  const tail = await encoder.end();
  expect([first?.length, tail.length]).toEqual([(second?.length ?? 0) + 10, 10]);
  const whole = Buffer.concat([first, second, tail] as Uint8Array[]);
  expect(zlib.gunzipSync(whole).toString()).toBe('line\nline\n');
});
