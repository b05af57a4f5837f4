import { keyTexts } from '../../segment/codec.ts';
import { keyBytes } from '../../segment/dictionary.ts';
import type { Segment } from '../../segment/open-segment.ts';

/** Keys with a smaller gap between them are read together, because they are in the same or the next chunk, which is read anyway. */
const gapCountMax = 64;

/** Returns the base58 texts of dictionary ids. */
export function readKeyTexts(
  segment: Segment,
  ids: readonly number[],
): ReadonlyMap<number, string> {
  const sorted = Uint32Array.from(new Set(ids)).sort();
  const keys = new Uint8Array(sorted.length * keyBytes);
  for (let from = 0; from < sorted.length; ) {
    let to = from + 1;
    while (to < sorted.length && (sorted[to] as number) - (sorted[to - 1] as number) <= gapCountMax)
      to++;
    const first = sorted[from] as number;
    const span = segment.readKeys(first, (sorted[to - 1] as number) - first + 1);
    for (; from < to; from++) {
      const at = ((sorted[from] as number) - first) * keyBytes;
      keys.set(span.subarray(at, at + keyBytes), from * keyBytes);
    }
  }
  const texts = keyTexts(keys);
  return new Map(Array.from(sorted, (id, i) => [id, texts[i] as string]));
}
