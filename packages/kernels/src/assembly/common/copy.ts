/** A call that copies bytes is faster for more than these. */
const VECTOR_COPY_MAX: u32 = 256;

/**
 * Copies bytes of which most runs are short, such as a text or the literals of a compressed page: a call takes longer than copying them. It
 * copies whole vectors, so up to 15 bytes beyond either end are read and written. The ranges must not overlap.
 */
// @ts-ignore: decorator
@inline
export function copyShort(to: usize, from: usize, length: u32): void {
  if (length > VECTOR_COPY_MAX) {
    memory.copy(to, from, length);
    return;
  }
  for (let at: u32 = 0; at < length; at += 16) v128.store(to + at, v128.load(from + at));
}
