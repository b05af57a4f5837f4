import { keyTexts } from '../../segment/codec.ts';
import type { Segment } from '../../segment/open-segment.ts';

/** Keys closer than this are read at once: their chunks are verified in any case. */
const gapCountMax = 64;

/** Returns the base58 texts of dictionary ids. Reads neighbouring keys together. */
export function readKeyTexts(
  segment: Segment,
  ids: readonly number[],
): ReadonlyMap<number, string> {
  const sorted = [...new Set(ids)].sort((a, b) => a - b);
  const texts = new Map<number, string>();
  for (let from = 0; from < sorted.length; ) {
    let to = from + 1;
    while (to < sorted.length && (sorted[to] as number) - (sorted[to - 1] as number) <= gapCountMax)
      to++;
    const first = sorted[from] as number;
    const count = (sorted[to - 1] as number) - first + 1;
    const span = keyTexts(segment.readKeys(first, count));
    for (const id of sorted.slice(from, to)) texts.set(id, span[id - first] as string);
    from = to;
  }
  return texts;
}
