/**
 * Files of blocks: a line is `{"slot":N,"block":<result of getBlock>}`, or the same with the slot last, plain, gzip or, where
 * the runtime has it, zstd. The block's bytes are cut out as they are, every digit kept; whether they are a block is for the
 * normalizer to say.
 */
import { type FileHandle, open, stat } from 'node:fs/promises';
import { addAbortSignal, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { CodedError } from '../../base/errors.ts';
import { parseSlot, type Slot } from '../../ledger/primitives.ts';
import { isSpace } from '../json/is-space.ts';
import type { LineMemory } from './line-buffers.ts';
import { openByteStream, standardInput } from './open-byte-stream.ts';
import { readFileLines } from './read-file-lines.ts';
import { joinParts, LineTooLong, splitLines } from './split-lines.ts';

export interface BlockLine {
  readonly slot: Slot;
  /** The bytes of the getBlock result, whose memory is held until it is released. */
  readonly bytes: Uint8Array;
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
}

export interface ReadLinesOptions {
  readonly lineBytesMax: number;
  /** Told how many more bytes of the file, as it is stored, were read. */
  readonly onRead?: ((byteCount: number) => void) | undefined;
  /** Ends a wait for what is yet to be written to a pipe; what is read then fails. */
  readonly signal?: AbortSignal | undefined;
  /** Where lines are read to; by default memory that the garbage collector frees. */
  readonly memory?: LineMemory | undefined;
}

export const lineExpected = '{"slot":N,"block":{…}}';

/** No line has more white space and digits than this before its block, nor after it. */
const sideBytesMax = 256;
const slotFirst = {
  head: /^\s*\{\s*"slot"\s*:\s*(?<slot>\d+)\s*,\s*"block"\s*:\s*/,
  tail: /\}$/,
};
/** Nothing in a block ends so: what closes it stands between. */
const blockFirst = {
  head: /^\s*\{\s*"block"\s*:\s*/,
  tail: /\s*,\s*"slot"\s*:\s*(?<slot>\d+)\s*\}$/,
};
/** In UTF-8, read as single bytes. */
const byteOrderMark = '\u00ef\u00bb\u00bf';

/** The blocks of a file in its order. Empty lines are passed over, anything else that is no block line is refused. */
export async function* readBlockLines(
  path: string,
  options: ReadLinesOptions,
): AsyncGenerator<BlockLine> {
  const { lineBytesMax } = options;
  let line = 1;
  try {
    for await (const bytes of readLines(path, options)) {
      const found = parseLine(bytes, { path, line });
      if (found === undefined) options.memory?.release(bytes);
      else yield found;
      line++;
    }
  } catch (error) {
    throw describeFailure(error, { path, line, lineBytesMax });
  }
}

/** Yields the lines, whose memory is held. */
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

/** Open at its beginning; undefined for what is compressed, and for what is no file and cannot be looked into first. */
async function openPlainFile(path: string): Promise<FileHandle | undefined> {
  if (!(await isFile(path)) || (await isCompressedFile(path))) return undefined;
  return open(path);
}

/**
 * Reads a compressed file to its end and keeps nothing. Only there stands the checksum: a flipped bit before it may leave
 * a block that looks right and is not. A plain file has none, and a pipe cannot be read twice; they are passed over.
 */
export async function checkCompressed(path: string, signal: AbortSignal): Promise<void> {
  try {
    if (!(await isFile(path)) || !(await isCompressedFile(path))) return;
    for await (const _ of readFile(path, {})) if (signal.aborted) return;
  } catch (error) {
    throw describeReadFailure(error, { path });
  }
}

/** Asked before it is opened: whoever opens a FIFO and closes it has lost what was written to it. */
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

/** What the decompressors' codes mean for the file. */
const decodeFailures: Readonly<Record<string, string>> = {
  Z_BUF_ERROR: 'its compressed data ends too early: the file is cut; copy it again',
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

function describeReadFailure(error: unknown, place: { path: string; line?: number }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof CodedError || code === undefined) return error;
  const reason = decodeFailures[code] ?? code;
  // A file or folder that cannot be opened has no lines.
  const detail = openFailures.has(code) ? { path: place.path, reason } : { ...place, reason };
  return new CodedError('block-file-unreadable', detail, { cause: error });
}

/** Undefined for a line of white space. */
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
    path,
    line,
  };
}

/** What stands around the block of a line, by how the line begins and ends. */
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

/** The file's bytes, decompressed as its first bytes say. */
async function* readFile(
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

/** Compressions that are recognized so that the message can name them, and the command that decompresses each. */
const foreignCompressions = [
  { name: 'bzip2', magic: [0x42, 0x5a, 0x68], command: 'bzip2 -dc' },
  { name: 'xz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], command: 'xz -dc' },
  { name: 'zip', magic: [0x50, 0x4b, 0x03, 0x04], command: 'unzip -p' },
  { name: 'lz4', magic: [0x04, 0x22, 0x4d, 0x18], command: 'lz4 -dc' },
] as const;

function refuseForeignCompression(first: Uint8Array, path: string): void {
  const found = foreignCompressions.find(({ magic }) => begins(first, magic));
  if (found === undefined) return;
  const reason = `it is compressed with ${found.name}, which sluice does not read; decompress it first, for example: ${found.command} FILE | sluice import --dataset NAME -`;
  throw new CodedError('block-file-unreadable', { path, reason });
}

/** The longest of them all, xz's. */
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
  // Node 22 and later have it.
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform };
  if (createZstdDecompress !== undefined) return createZstdDecompress();
  const reason = 'zstd needs a newer Node; use gzip';
  throw new CodedError('block-file-unreadable', { path, reason });
}
