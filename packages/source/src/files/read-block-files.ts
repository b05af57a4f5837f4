import { once } from 'node:events';
import { open, readFile as readWhole, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { isCodedError } from '@sluice/base/errors';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import { EpochIndex, indexName } from '../archive/epoch-index.ts';
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
  /** Returns the newest stored slot. An archive with an index is read from its block on. */
  readonly storedHead?: () => Slot | undefined;
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
  { onRead, memory, storedHead }: Pick<ReadFilesOptions, 'onRead' | 'memory' | 'storedHead'>,
  chain: ArchiveChain,
  signal: AbortSignal,
): AsyncGenerator<BlockLine> {
  const binary = { path, blockBytesMax, memory };
  if (isProtobufFile(path)) {
    const readBlocks = (read: ReadInto) => readProtobufFile(read, binary);
    yield* withReader(path, { onRead, signal, offset: 0 }, readBlocks);
  } else if (await isArchiveFile(path, signal)) {
    const offset = await findOffset(path, storedHead?.());
    onRead?.(offset);
    const options = { ...binary, isAfterHeader: offset > 0 };
    const readBlocks = (read: ReadInto) => readArchiveFile(read, options, chain);
    yield* withReader(path, { onRead, signal, offset }, readBlocks);
  } else {
    yield* readBlockLines(path, { onRead, memory, lineBytesMax, signal });
  }
}

/** Opens a binary file and closes it at the end. A plain file is read without copies, others through a stream. */
async function* withReader(
  path: string,
  options: Pick<ReadLinesOptions, 'onRead' | 'signal'> & { readonly offset: number },
  readBlocks: (read: ReadInto) => AsyncGenerator<BlockLine>,
): AsyncGenerator<BlockLine> {
  const file = await openPlainFile(path).catch((error: unknown) => {
    throw describeReadFailure(error, { path });
  });
  try {
    const { onRead, offset } = options;
    const read =
      file === undefined ? chunkReader(readFile(path, options)) : fileReader(file, offset, onRead);
    yield* readBlocks(read);
  } catch (error) {
    throw describeReadFailure(error, { path });
  } finally {
    await file?.close();
  }
}

/** Returns the offset of the block of a slot in an archive with an index next to it, or 0 if the archive lacks an index. */
async function findOffset(path: string, slot: Slot | undefined): Promise<number> {
  const epoch = Number(/^epoch-(\d+)\.car$/.exec(basename(path))?.[1]);
  if (slot === undefined || Number.isNaN(epoch)) return 0;
  const bytes = await readWhole(join(dirname(path), indexName(epoch))).catch(() => undefined);
  const index = bytes === undefined ? undefined : EpochIndex.read(epoch, bytes);
  return index?.rangeOf(slot)?.offset ?? 0;
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
