import { collectedMemory, type LineMemory } from './line-buffers.ts';

const newline = 0x0a;

/** A line longer than the limit. */
export class LineTooLong extends RangeError {}

/** Yields the lines of a stream without their line feeds. A line is a list of parts of chunks. */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<readonly Uint8Array[]> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; ) {
      const at = chunk.indexOf(newline, start);
      const end = at < 0 ? chunk.length : at;
      parts.push(chunk.subarray(start, end));
      length += end - start;
      if (length > lineBytesMax) throw new LineTooLong();
      start = end + 1;
      if (at < 0) break;
      yield parts;
      parts = [];
      length = 0;
    }
  }
  if (length > 0) yield parts;
}

/** Copies the parts into one array. */
export function joinParts(
  parts: readonly Uint8Array[],
  memory: LineMemory = collectedMemory,
): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = memory.allocate(length).subarray(0, length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
