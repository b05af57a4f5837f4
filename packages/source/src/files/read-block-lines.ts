/**
 * Reads files of blocks. A line is `{"slot":N,"block":<result of getBlock>}`, or the same with the slot last. Files are plain, gzip,
 * or zstd if the runtime supports it. The bytes of a block are not changed; the normalizer checks them.
 */
import { type FileHandle, open, stat } from 'node:fs/promises';
import { addAbortSignal, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { type BlockHash, parseSlot, type Slot } from '@sluice/ledger/primitives';
import { isSpace } from '../json/is-space.ts';
import type { BlockFormat } from '../source.ts';
import type { LineMemory } from './line-buffers.ts';
import { openByteStream, standardInput } from './open-byte-stream.ts';
import { readFileLines } from './read-file-lines.ts';
import { joinParts, LineTooLong, splitLines } from './split-lines.ts';

/** A block of a file, which is a line or a part of a binary file. */
export interface BlockLine {
  readonly slot: Slot;
  /** The bytes of the block in the format below. The receiver owns a reference to their memory. */
  readonly bytes: Uint8Array;
  readonly format: BlockFormat;
  readonly path: string;
  /** Counted from 1. Undefined if the file has no lines. */
  readonly line?: number;
  /** The hash of the block, if the reader of the file knows it. */
  readonly hash?: BlockHash;
}

export interface ReadLinesOptions {
  readonly lineBytesMax: number;
  /** Called with the number of bytes that were read from the stored file. */
  readonly onRead?: ((byteCount: number) => void) | undefined;
  /** Aborts waiting for data of a pipe. Reading fails then. */
  readonly signal?: AbortSignal | undefined;
  /** The memory of the lines; garbage-collected by default. */
  readonly memory?: LineMemory | undefined;
}

export const lineExpected = '{"slot":N,"block":{…}}';

/** Returns the error for files without a block. */
export function noBlocks(paths: readonly string[]): CodedError {
  const path = paths.join(' ');
  return new CodedError('block-line-invalid', { path, found: 'no blocks', expected: lineExpected });
}

/** The longest text before and after the block of a line. */
const sideBytesMax = 256;
const slotFirst = {
  head: /^\s*\{\s*"slot"\s*:\s*(?<slot>\d+)\s*,\s*"block"\s*:\s*/,
  tail: /\}$/,
};
/** The tail does not match a `slot` inside the block, because the closing brace of the block would follow it. */
const blockFirst = {
  head: /^\s*\{\s*"block"\s*:\s*/,
  tail: /\s*,\s*"slot"\s*:\s*(?<slot>\d+)\s*\}$/,
};
/** The byte order mark of UTF-8, as single bytes. */
const byteOrderMark = '\u00ef\u00bb\u00bf';

/** Reads the blocks of a file in order. Empty lines are skipped; other lines without a block are rejected. */
export async function* readBlockLines(
  path: string,
  options: ReadLinesOptions,
): AsyncGenerator<BlockLine> {
  const { lineBytesMax } = options;
  let line = 1;
  try {
    for await (const bytes of readLines(path, options)) {
      const block = parseLine(bytes, { path, line });
      if (block === undefined) options.memory?.release(bytes);
      else yield block;
      line++;
    }
  } catch (error) {
    throw describeFailure(error, { path, line, lineBytesMax });
  }
}

/** Yields the lines with a reference to their memory. */
async function* readLines(
  path: string,
  { lineBytesMax, onRead, signal, memory }: ReadLinesOptions,
): AsyncGenerator<Uint8Array> {
  const plain = await openPlainFile(path);
  if (plain === undefined) {
    for await (const parts of splitLines(readFile(path, { onRead, signal }), lineBytesMax)) {
      yield joinParts(parts, memory);
    }
    return;
  }
  try {
    yield* readFileLines(plain, { lineBytesMax, onRead, memory });
  } finally {
    await plain.close();
  }
}

/** Opens a plain file. Returns undefined for a compressed file, and for a pipe, which cannot be inspected first. */
export async function openPlainFile(path: string): Promise<FileHandle | undefined> {
  if (!(await isFile(path)) || (await isCompressedFile(path))) return undefined;
  return open(path);
}

/**
 * Reads a compressed file to its end to verify its checksum, because a flipped bit can leave a block that looks valid. A plain file
 * has no checksum and a pipe cannot be read twice, so they are skipped.
 */
export async function checkCompressed(path: string, signal: AbortSignal): Promise<void> {
  try {
    if (!(await isFile(path)) || !(await isCompressedFile(path))) return;
    for await (const _ of readFile(path, {})) if (signal.aborted) return;
  } catch (error) {
    throw describeReadFailure(error, { path });
  }
}

/** Must be called before the path is opened: opening and closing a FIFO would lose the data in it. */
async function isFile(path: string): Promise<boolean> {
  return path !== standardInput && (await stat(path)).isFile();
}

async function isCompressedFile(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(magicBytesMax));
    const first = buffer.subarray(0, bytesRead);
    const magics = [gzipMagic, zstdMagic, ...foreignCompressions.map(({ magic }) => magic)];
    return magics.some((magic) => begins(first, magic));
  } finally {
    await file.close();
  }
}

/** Descriptions of the error codes of the decompressors. */
const decodeFailures: Readonly<Record<string, string>> = {
  Z_BUF_ERROR: 'its compressed data ends too early: the file is incomplete; copy it again',
  Z_DATA_ERROR: 'its compressed data is damaged; copy it again',
};

const openFailures = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'ELOOP']);

function describeFailure(
  error: unknown,
  { path, line, lineBytesMax }: { path: string; line: number; lineBytesMax: number },
): unknown {
  if (error instanceof LineTooLong) {
    const expected = `a line of at most ${lineBytesMax} bytes`;
    return new CodedError('block-line-invalid', { path, line, expected }, { cause: error });
  }
  return describeReadFailure(error, { path, line });
}

export function describeReadFailure(
  error: unknown,
  position: { path: string; line?: number },
): unknown {
  const code = systemErrorCode(error);
  if (error instanceof CodedError || code === undefined) return error;
  const reason = decodeFailures[code] ?? code;
  // If the file cannot be opened, no line was read that could be named.
  const detail = openFailures.has(code) ? { path: position.path, reason } : { ...position, reason };
  return new CodedError('block-file-unreadable', detail, { cause: error });
}

/** Returns undefined for a line of white space. */
function parseLine(
  bytes: Uint8Array,
  { path, line }: { path: string; line: number },
): BlockLine | undefined {
  let end = bytes.length;
  while (end > 0 && isSpace(bytes[end - 1] as number)) end--;
  if (end === 0) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, end);
  const first = text.toString('latin1', 0, Math.min(end, sideBytesMax));
  if (first.startsWith(byteOrderMark)) {
    const found = 'a byte order mark; save the file without it';
    throw new CodedError('block-line-invalid', { path, line, found, expected: lineExpected });
  }
  const around = findAround(first, text.toString('latin1', Math.max(0, end - sideBytesMax)));
  if (around === undefined) {
    throw new CodedError('block-line-invalid', { path, line, expected: lineExpected });
  }
  const { slot, headLength, tailLength } = around;
  return {
    slot,
    bytes: bytes.subarray(headLength, Math.max(headLength, end - tailLength)),
    format: 'node',
    path,
    line,
  };
}

/** Returns the slot of a line and the position of its block, by how the line begins and ends. */
function findAround(
  first: string,
  last: string,
): { slot: Slot; headLength: number; tailLength: number } | undefined {
  for (const order of [slotFirst, blockFirst]) {
    const head = order.head.exec(first);
    const tail = order.tail.exec(last);
    if (head === null || tail === null) continue;
    const slot = parseSlot(Number(head.groups?.['slot'] ?? tail.groups?.['slot']));
    if (slot === undefined) return undefined;
    return { slot, headLength: head[0].length, tailLength: tail[0].length };
  }
  return undefined;
}

/** Returns the bytes of a file, decompressed according to its first bytes. */
export async function* readFile(
  path: string,
  { onRead, signal }: Pick<ReadLinesOptions, 'onRead' | 'signal'>,
): AsyncGenerator<Uint8Array> {
  const file = await openByteStream(path);
  if (signal !== undefined) addAbortSignal(signal, file);
  try {
    const chunks = file[Symbol.asyncIterator]() as AsyncIterableIterator<Uint8Array>;
    const first = await chunks.next();
    if (first.done === true) return;
    const decoder = decoderFor(first.value, path);
    const whole = joinFirst(first.value, chunks, onRead);
    if (decoder === undefined) yield* whole;
    else yield* throughDecoder(whole, decoder);
  } finally {
    file.destroy();
  }
}

async function* joinFirst(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
  onRead: ReadLinesOptions['onRead'],
): AsyncGenerator<Uint8Array> {
  onRead?.(first.length);
  yield first;
  for await (const chunk of rest) {
    onRead?.(chunk.length);
    yield chunk;
  }
}

async function* throughDecoder(
  source: AsyncIterable<Uint8Array>,
  decoder: Transform,
): AsyncGenerator<Uint8Array> {
  const input = Readable.from(source);
  input.once('error', (error) => decoder.destroy(error));
  input.pipe(decoder);
  try {
    yield* decoder as AsyncIterable<Uint8Array>;
  } finally {
    input.destroy();
    decoder.destroy();
  }
}

/** Unsupported compressions, with the command that decompresses each, for the error message. */
const foreignCompressions = [
  { name: 'bzip2', magic: [0x42, 0x5a, 0x68], command: 'bzip2 -dc' },
  { name: 'xz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], command: 'xz -dc' },
  { name: 'zip', magic: [0x50, 0x4b, 0x03, 0x04], command: 'unzip -p' },
  { name: 'lz4', magic: [0x04, 0x22, 0x4d, 0x18], command: 'lz4 -dc' },
] as const;

function refuseForeignCompression(first: Uint8Array, path: string): void {
  const compression = foreignCompressions.find(({ magic }) => begins(first, magic));
  if (compression === undefined) return;
  const reason = `it is compressed with ${compression.name}, which sluice does not read; decompress it first, for example: ${compression.command} FILE | sluice import --dataset NAME -`;
  throw new CodedError('block-file-unreadable', { path, reason });
}

/** The length of the longest magic number, which xz has. */
const magicBytesMax = 6;
const gzipMagic = [0x1f, 0x8b];
const zstdMagic = [0x28, 0xb5, 0x2f, 0xfd];

function begins(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, i) => bytes[i] === byte);
}

function decoderFor(first: Uint8Array, path: string): Transform | undefined {
  if (begins(first, gzipMagic)) return zlib.createGunzip();
  refuseForeignCompression(first, path);
  if (!begins(first, zstdMagic)) return undefined;
  // Node 22 and later support zstd.
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform };
  if (createZstdDecompress !== undefined) return createZstdDecompress();
  const reason = 'zstd needs a newer Node; use gzip';
  throw new CodedError('block-file-unreadable', { path, reason });
}
