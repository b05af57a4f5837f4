/** Builds the buffers of Arrow columns from values. */

export const bytesOf = ({ buffer }: Uint32Array | Int32Array) => new Uint8Array(buffer);

/** Returns a bit for each row, and how many of them are not set. */
export function validityOf(
  count: number,
  isSet: (row: number) => boolean,
): { readonly bits: Uint8Array; readonly nullCount: number } {
  const bits = new Uint8Array(Math.ceil(count / 8));
  let nullCount = 0;
  for (let row = 0; row < count; row++) {
    if (isSet(row)) bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7));
    else nullCount++;
  }
  return { bits, nullCount };
}

/** Returns the buffers of texts: the start of each and the end of the last, and their bytes. A null has no bytes. */
export function textBuffers(texts: readonly (string | null)[]): readonly Uint8Array[] {
  const starts = new Int32Array(texts.length + 1);
  let at = 0;
  for (const [row, text] of texts.entries()) {
    at += text === null ? 0 : Buffer.byteLength(text);
    starts[row + 1] = at;
  }
  return [bytesOf(starts), Buffer.from(texts.map((text) => text ?? '').join(''))];
}
