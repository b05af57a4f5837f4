import { once } from 'node:events';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { isCodedError } from '@sluice/base/errors';
import type { BlockHash, Slot } from '../../ledger/primitives.ts';
import { type ArchiveChain, isArchive, readArchiveFile } from '../archive/read-archive-file.ts';
import { isProtobufFile, readProtobufFile } from '../binary/read-protobuf-file.ts';
import { normalizeDefaults } from '../normalize/normalize-options.ts';
import { chunkReader, fileReader, type ReadInto } from './byte-window.ts';
import { standardInput } from './open-byte-stream.ts';
import {
  type BlockLine,
  checkCompressed,
  describeReadFailure,
  openPlainFile,
  type ReadLinesOptions,
  readBlockLines,
  readFile,
} from './read-block-lines.ts';

const blockBytesMax = normalizeDefaults.bytesMax;
/** A line contains a block and its slot. */
const lineBytesMax = blockBytesMax + 256;

export interface ReadFilesOptions extends Pick<ReadLinesOptions, 'onRead' | 'memory'> {
  /** Whether the caller discards all blocks if a file is damaged. Otherwise compressed files are checked first. */
  readonly isAllOrNothing?: boolean;
  /** Returns the hash of a stored block, which archives do not have for the parent of their first block. */
  readonly storedHash?: (slot: Slot) => Promise<BlockHash | undefined>;
}

/**
 * Reads the blocks of several files, one after another, until the files end or the signal aborts. A file has lines of JSON, is an archive
 * in a CAR file, or has protobufs.
 */
export async function* readBlockFiles(
  paths: readonly string[],
  { isAllOrNothing = false, storedHash, ...options }: ReadFilesOptions,
  signal: AbortSignal,
): AsyncGenerator<BlockLine> {
  const chain: ArchiveChain = {
    previous: undefined,
    storedHash: storedHash ?? (() => Promise.resolve(undefined)),
  };
  for (const path of paths) {
    try {
      if (!isAllOrNothing) await checkCompressed(path, signal);
      for await (const line of readOneFile(path, options, chain, signal)) {
        if (signal.aborted) return;
        yield line;
      }
    } catch (error) {
      // Reading a pipe fails when the signal aborts.
      if (signal.aborted && isCodedError(error)) return;
      throw error;
    }
  }
}

async function* readOneFile(
  path: string,
  { onRead, memory }: Pick<ReadLinesOptions, 'onRead' | 'memory'>,
  chain: ArchiveChain,
  signal: AbortSignal,
): AsyncGenerator<BlockLine> {
  const binary = { path, blockBytesMax, memory };
  if (isProtobufFile(path)) {
    yield* withReader(path, { onRead, signal }, (read) => readProtobufFile(read, binary));
  } else if (await isArchiveFile(path, signal)) {
    yield* withReader(path, { onRead, signal }, (read) => readArchiveFile(read, binary, chain));
  } else {
    yield* readBlockLines(path, { onRead, memory, lineBytesMax, signal });
  }
}

/** Opens a binary file and closes it at the end. A plain file is read without copies, others through a stream. */
async function* withReader(
  path: string,
  options: Pick<ReadLinesOptions, 'onRead' | 'signal'>,
  readBlocks: (read: ReadInto) => AsyncGenerator<BlockLine>,
): AsyncGenerator<BlockLine> {
  const file = await openPlainFile(path).catch((error: unknown) => {
    throw describeReadFailure(error, { path });
  });
  try {
    const { onRead } = options;
    const read =
      file === undefined ? chunkReader(readFile(path, options)) : fileReader(file, onRead);
    yield* readBlocks(read);
  } catch (error) {
    throw describeReadFailure(error, { path });
  } finally {
    await file?.close();
  }
}

/** Returns whether a file is an archive, by its name or by its first bytes. A FIFO can only be read once, so its name decides. */
async function isArchiveFile(path: string, signal: AbortSignal): Promise<boolean> {
  if (path === standardInput) return isArchive(await peek(process.stdin, signal));
  if (/\.car(?:\.gz)?$/.test(path)) return true;
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile()) return false;
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(peekedBytes));
    return isArchive(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Enough to recognize an archive. */
const peekedBytes = 16;

/** Returns the first bytes of a stream, which stay in it. */
async function peek(stream: Readable, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length < peekedBytes && !stream.readableEnded && !signal.aborted) {
    const chunk: Uint8Array | null = stream.read();
    if (chunk === null) {
      const more = ['readable', 'end'].map((event) => once(stream, event, { signal }));
      await Promise.race(more).catch(() => undefined);
    } else {
      chunks.push(chunk);
      length += chunk.length;
    }
  }
  const first = Buffer.concat(chunks);
  if (length > 0) stream.unshift(first);
  return first;
}
