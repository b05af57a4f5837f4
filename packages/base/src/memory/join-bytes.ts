/**
 * Concatenates bytes in memory of their own. `Buffer.concat` takes short results from blocks of 8 KB, and a whole block stays in memory as
 * long as one of them does, so it is for bytes that are used at once.
 */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
