import type { FileHandle } from 'node:fs/promises';
import { type Allocate, allocateOwn, LineTooLong } from './split-lines.ts';

const newline = 0x0a;
/** A line of blocks has megabytes: smaller pieces cost more turns of the loop than they save memory. */
const readBytes = 1024 * 1024;
/** Fits nearly all lines, so that a buffer rarely has to grow. */
const bufferBytes = 8 * readBytes;

export interface ReadFileOptions {
  readonly lineBytesMax: number;
  readonly onRead?: ((byteCount: number) => void) | undefined;
  readonly allocate?: Allocate | undefined;
}

/**
 * Yields the lines of a file without their line feeds. The file is read into the buffer that is handed over with the line: no
 * line shares its buffer with another. Of the line and of what was read behind it, the shorter is copied to another buffer.
 */
export async function* readFileLines(
  file: FileHandle,
  { lineBytesMax, onRead, allocate = allocateOwn }: ReadFileOptions,
): AsyncGenerator<Uint8Array> {
  const take = (length: number) => Buffer.from(allocate(length).buffer);
  let buffer = take(bufferBytes);
  let [start, searched, filled] = [0, 0, 0];
  for (;;) {
    const at = buffer.subarray(0, filled).indexOf(newline, searched);
    const end = at < 0 ? filled : at;
    if (end - start > lineBytesMax) throw new LineTooLong();
    if (at >= 0) {
      const next = at + 1;
      if (at - start <= filled - next) {
        yield copyOf(buffer, start, at);
        [start, searched] = [next, next];
      } else {
        const rest = take(bufferBytes);
        buffer.copy(rest, 0, next, filled);
        const line = buffer.subarray(start, at);
        [buffer, start, searched, filled] = [rest, 0, 0, filled - next];
        yield line;
      }
      continue;
    }
    if (buffer.length - filled < readBytes) {
      const isRoom = buffer.length - (filled - start) >= readBytes;
      const target = isRoom ? buffer : take(buffer.length * 2);
      buffer.copy(target, 0, start, filled);
      [buffer, start, filled] = [target, 0, filled - start];
    }
    searched = filled;
    const { bytesRead } = await file.read(buffer, filled, readBytes);
    if (bytesRead === 0) break;
    onRead?.(bytesRead);
    filled += bytesRead;
  }
  if (filled > start) yield buffer.subarray(start, filled);
}

function copyOf(buffer: Buffer, start: number, end: number): Uint8Array {
  const copy = allocateOwn(end - start);
  copy.set(buffer.subarray(start, end));
  return copy;
}
