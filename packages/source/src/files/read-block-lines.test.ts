import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { LineBuffers } from './line-buffers.ts';
import { readBlockFiles } from './read-block-files.ts';
import { type BlockLine, readBlockLines } from './read-block-lines.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-lines-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function readLines(content: string | Uint8Array) {
  const path = join(folder, 'blocks');
  writeFileSync(path, content);
  const found: (readonly [number, number | undefined, string])[] = [];
  const kept: BlockLine[] = [];
  for await (const block of readBlockLines(path, { lineBytesMax: 4_000_000 })) {
    const { slot, line, bytes } = block;
    found.push([slot, line, Buffer.from(bytes).toString()]);
    kept.push(block);
  }
  // Later reads do not change a line.
  expect(kept.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(
    found.map(([, , text]) => text),
  );
  return found;
}

/** As large as real blocks, so that lines start and end anywhere in a read. */
const blockOf = (slot: number) =>
  `{"text":"${String.fromCharCode(97 + slot).repeat(450_000 + slot)}"}`;
const slots = [1, 2, 3, 4, 5];
const expected = slots.map((slot) => [slot, slot, blockOf(slot)]);
const lines = slots.map((slot) => `{"slot":${slot},"block":${blockOf(slot)}}`);

test('default: each line gives its slot and the bytes of its block', async () => {
  expect(await readLines(`${lines.join('\n')}\n`)).toEqual(expected);
  expect(await readLines(lines.join('\n'))).toEqual(expected);
});

test('behavior: a line is unchanged until it is released, and then its memory is reused', async () => {
  const memory = new LineBuffers();
  // More than two chunks, of which the second ends inside a line.
  const count = 90;
  const path = join(folder, 'many');
  const line = (i: number) => `{"slot":${i},"block":${blockOf(i % 20)}}\n`;
  writeFileSync(path, Array.from({ length: count }, (_, i) => line(i)).join(''));
  const buffers = new Set<ArrayBufferLike>();
  const held: BlockLine[] = [];
  const check = ({ slot, bytes }: BlockLine) => {
    expect(Buffer.from(bytes).toString() === blockOf(slot % 20)).toBe(true);
    memory.release(bytes);
  };
  for (let round = 0; round < 3; round++) {
    for await (const block of readBlockLines(path, { lineBytesMax: 4_000_000, memory })) {
      held.push(block);
      buffers.add(block.bytes.buffer);
      if (held.length > 8) check(held.shift() as BlockLine);
    }
    for (const block of held.splice(0)) check(block);
  }
  expect([...buffers].every((buffer) => buffer instanceof SharedArrayBuffer)).toBe(true);
  expect(buffers.size).toBeLessThanOrEqual(4);
});

test('behavior: white space around a line is ignored, and empty lines are counted', async () => {
  const spaced = [
    ' { "slot" : 7 , "block" : {"a":1} } \r',
    '',
    '\t\r',
    '{"slot":8,"block":{}}',
    '  ',
  ];
  expect(await readLines(spaced.join('\n'))).toEqual([
    [7, 1, '{"a":1} '],
    [8, 4, '{}'],
  ]);
});

test('behavior: the slot may come after the block', async () => {
  const turned = slots.map((slot) => `{"block":${blockOf(slot)},"slot":${slot}}`);
  expect(await readLines(turned.join('\n'))).toEqual(expected);
  const spaced = ' { "block" : {"slot":3,"b":{"slot":4}} , "slot" : 7 } \r';
  expect(await readLines(spaced)).toEqual([[7, 1, '{"slot":3,"b":{"slot":4}}']]);
});

test.each([
  '{"slot":1,"block":[]',
  '{"slot":-1,"block":{}}',
  '{"block":{},"slot":-1}',
  '{"block":{"slot":1}}',
  '{"block":{},"slot":1',
  'x',
])('error: block-line-invalid: %s', async (line) => {
  await expect(readLines(`{"slot":1,"block":{}}\n${line}\n`)).rejects.toMatchObject({
    code: 'block-line-invalid',
    detail: { line: 2 },
  });
});

test('limit: a line that is too long is refused with its number', async () => {
  const long = `{"slot":1,"block":"${'x'.repeat(4_000_000)}"}`;
  await expect(readLines(`${lines[0]}\n${long}`)).rejects.toMatchObject({
    code: 'block-line-invalid',
    detail: { line: 2 },
  });
});

test('behavior: gzip is recognized by its first bytes', async () => {
  expect(await readLines(zlib.gzipSync(lines.join('\n'), { level: 1 }))).toEqual(expected);
});

test('error: block-file-unreadable describes the fault of a truncated or damaged gzip file, and its position', async () => {
  const packed = zlib.gzipSync(lines.join('\n'));
  await expect(readLines(packed.subarray(0, -20))).rejects.toMatchObject({
    code: 'block-file-unreadable',
    detail: { line: expect.any(Number), reason: expect.stringContaining('the file is incomplete') },
  });
  const damaged = Uint8Array.from(packed);
  damaged.fill(0xff, 12, 40);
  await expect(readLines(damaged)).rejects.toMatchObject({
    detail: { reason: expect.stringContaining('damaged') },
  });
});

test.each([
  ['bzip2', [0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00]],
  ['zip', [0x50, 0x4b, 0x03, 0x04, 0x14]],
])('error: block-file-unreadable names %s and how to decompress it', async (name, bytes) => {
  await expect(readLines(Uint8Array.from(bytes))).rejects.toMatchObject({
    code: 'block-file-unreadable',
    message: expect.stringMatching(
      new RegExp(`compressed with ${name}.* \\| sluice import --dataset NAME -`),
    ),
  });
});

const { zstdCompressSync } = zlib as { zstdCompressSync?: (bytes: Uint8Array) => Uint8Array };
test.skipIf(zstdCompressSync === undefined)(
  'behavior: zstd is recognized by its first bytes (needs a runtime that supports it)',
  async () => {
    const packed = zstdCompressSync?.(Buffer.from(lines.join('\n'))) ?? new Uint8Array();
    expect(await readLines(packed)).toEqual(expected);
  },
);

test.skipIf(zstdCompressSync !== undefined)(
  'error: zstd on a runtime without it says what to do (needs such a runtime)',
  async () => {
    const magic = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0]);
    await expect(readLines(magic)).rejects.toMatchObject({
      code: 'block-file-unreadable',
      detail: { reason: expect.stringContaining('use gzip') },
    });
  },
);

test.each([
  ['plain', (text: string) => text],
  ['gzip', zlib.gzipSync],
] as const)('behavior: a FIFO is opened once and read as data arrives, %s', async (name, pack) => {
  const [whole, fifo] = [join(folder, `whole-${name}`), join(folder, `fifo-${name}`)];
  writeFileSync(whole, pack(lines.join('\n')));
  execFileSync('mkfifo', [fifo]);
  const writer = spawn('sh', ['-c', 'exec cat "$0" >"$1"', whole, fifo]);
  const ended = new Promise((resolve) => writer.once('close', resolve));
  const found: number[] = [];
  for await (const { slot } of readBlockFiles([fifo], {}, new AbortController().signal)) {
    found.push(slot);
  }
  expect(found).toEqual(slots);
  expect(await ended).toBe(0);
});
