import { valueOfKey } from '@sluice/base/value-of-key';
import type { EngineSegment } from '../engine-segment.ts';
import { readKeyTexts } from './read-key-texts.ts';

/** The longest prefix that a class of instructions can have. */
export const prefixBytesMax = 8;

/**
 * Returns the length of the prefixes of each program whose prefixes are shorter than 8 bytes in this segment. A segment shortens prefixes
 * if 8 bytes would make too many classes, so other segments of the same ledger may have longer ones.
 */
export function listShortPrefixes({ segment, index }: EngineSegment): ReadonlyMap<string, number> {
  const { classes } = index;
  const lengths = new Map<number, number>();
  for (let number = 0; number < classes.count; number++) {
    const { program, prefix, isWhole } = classes.row(number);
    // If the prefix is all of the data, it may be shorter than the prefixes of the program's other classes.
    if (!isWhole && prefix.length < prefixBytesMax) lengths.set(program, prefix.length);
  }
  const texts = readKeyTexts(segment, [...lengths.keys()]);
  return new Map([...lengths].map(([program, length]) => [valueOfKey(texts, program), length]));
}
