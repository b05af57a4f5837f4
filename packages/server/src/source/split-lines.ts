const newline = 0x0a;

/** A line longer than the limit. */
export class LineTooLong extends RangeError {}

/** The lines of a stream without their line feeds, in the parts they came in. */
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

/** Returns memory of this length with anything in it: all of it is written. */
export type Allocate = (length: number) => Uint8Array;

/** Memory of its own, which can be moved to a thread. It is not zeroed, which would be half the cost of a copy. */
export const allocateOwn: Allocate = (length) =>
  new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);

/** Copies the parts into one array. */
export function joinParts(
  parts: readonly Uint8Array[],
  allocate: Allocate = allocateOwn,
): Uint8Array {
  const bytes = allocate(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
