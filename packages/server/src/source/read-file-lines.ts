import type { FileHandle } from 'node:fs/promises';
import { LineTooLong } from './split-lines.ts';

const newline = 0x0a;
/** A line of blocks has megabytes: smaller pieces cost more turns of the loop than they save memory. */
const readBytes = 1024 * 1024;

/**
 * The lines of a file without their line feeds. All are read into one buffer, which grows to what the longest needs: memory
 * anew for each would keep the collector busy. A line is there until the next is asked for.
 */
export async function* readFileLines(
  file: FileHandle,
  lineBytesMax: number,
  onRead: ((byteCount: number) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  let buffer: Buffer = Buffer.allocUnsafeSlow(readBytes * 2);
  let [start, searched, filled] = [0, 0, 0];
  for (;;) {
    const at = buffer.subarray(0, filled).indexOf(newline, searched);
    const end = at < 0 ? filled : at;
    if (end - start > lineBytesMax) throw new LineTooLong();
    if (at >= 0) {
      yield buffer.subarray(start, at);
      start = at + 1;
      searched = start;
      continue;
    }
    if (buffer.length - filled < readBytes) {
      buffer = moveToFront(buffer, start, filled);
      filled -= start;
      start = 0;
    }
    searched = filled;
    const { bytesRead } = await file.read(buffer, filled, readBytes);
    if (bytesRead === 0) break;
    onRead?.(bytesRead);
    filled += bytesRead;
  }
  if (filled > start) yield buffer.subarray(start, filled);
}

/** The bytes from `start` on at the front of a buffer with room for more: the same, or a larger one. */
function moveToFront(buffer: Buffer, start: number, filled: number): Buffer {
  const isRoom = buffer.length - (filled - start) >= readBytes;
  const target = isRoom ? buffer : Buffer.allocUnsafeSlow(buffer.length * 2);
  buffer.copy(target, 0, start, filled);
  return target;
}
