import { elementAt } from '@sluice/base/element-at';
import { KeyTexts } from '../../segment/encoding/codec.ts';
import { keyBytes } from '../../segment/layout/dictionary.ts';
import type { Segment } from '../../segment/read/open-segment.ts';

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
    while (to < sorted.length && elementAt(sorted, to) - elementAt(sorted, to - 1) <= gapCountMax)
      to++;
    const first = elementAt(sorted, from);
    const span = segment.readKeys(first, elementAt(sorted, to - 1) - first + 1);
    for (; from < to; from++) {
      const at = (elementAt(sorted, from) - first) * keyBytes;
      keys.set(span.subarray(at, at + keyBytes), from * keyBytes);
    }
  }
  const texts = new KeyTexts(keys);
  return new Map(Array.from(sorted, (id, i) => [id, texts.at(i)]));
}
