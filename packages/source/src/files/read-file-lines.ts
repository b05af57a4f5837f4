import type { FileHandle } from 'node:fs/promises';
import { collectedMemory, type LineMemory } from './line-buffers.ts';
import { LineTooLong } from './split-lines.ts';

const newline = 0x0a;
/** Lines have megabytes. Smaller reads would cost more time than they save memory. */
const readBytes = 4 * 1024 * 1024;
/** A chunk has several lines. An incomplete line at its end is copied to the next chunk. */
const chunkBytes = 4 * readBytes;

export interface ReadFileOptions {
  readonly lineBytesMax: number;
  readonly onRead?: ((byteCount: number) => void) | undefined;
  readonly memory?: LineMemory | undefined;
}

/**
 * Yields the lines of a file without their line feeds. A line is a view of a chunk that is not written to any more, with a reference
 * to its memory.
 */
export async function* readFileLines(
  file: FileHandle,
  { lineBytesMax, onRead, memory = collectedMemory }: ReadFileOptions,
): AsyncGenerator<Uint8Array> {
  const take = (length: number) => Buffer.from(memory.allocate(length).buffer);
  let chunk = take(chunkBytes);
  let [start, searched, filled] = [0, 0, 0];
  try {
    for (;;) {
      const at = chunk.subarray(0, filled).indexOf(newline, searched);
      const end = at < 0 ? filled : at;
      if (end - start > lineBytesMax) throw new LineTooLong();
      if (at >= 0) {
        memory.retain(chunk);
        yield chunk.subarray(start, at);
        [start, searched] = [at + 1, at + 1];
        continue;
      }
      if (filled === chunk.length) {
        const next = take(Math.max(chunkBytes, 2 * (filled - start)));
        chunk.copy(next, 0, start, filled);
        memory.release(chunk);
        [chunk, start, filled] = [next, 0, filled - start];
      }
      searched = filled;
      const length = Math.min(readBytes, chunk.length - filled);
      const { bytesRead } = await file.read(chunk, filled, length);
      if (bytesRead === 0) break;
      onRead?.(bytesRead);
      filled += bytesRead;
    }
    if (filled > start) {
      memory.retain(chunk);
      yield chunk.subarray(start, filled);
    }
  } finally {
    memory.release(chunk);
  }
}
