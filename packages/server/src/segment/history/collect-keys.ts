import { isPlainSignatures } from '../indexes/probe-signature.ts';
import { SegmentIndex } from '../indexes/segment-index.ts';
import { SECTIONS } from '../layout/columns.ts';
import type { Segment } from '../read/open-segment.ts';
import { hashKeyAt, hashPrefix, wordsOf } from './key-hash.ts';

const addressWords = 8;
const signatureWords = 16;
/** The number of keys of the dictionary that are read at a time. */
const readCountMax = 16_384;
/** The lengths of discriminators that queries can filter by. */
export const prefixLengths = [1, 2, 4, 8] as const;

/** Returns the hashes of all keys that a query or lookup may search in a segment: ascending, without duplicates. */
export function collectKeys(segment: Segment): Float64Array {
  const hashes = new HashList(segment.addressCount * 2);
  addAddresses(segment, hashes);
  addSignatures(segment, hashes);
  addClasses(segment, hashes);
  return hashes.finish();
}

class HashList {
  #hashes: Float64Array;
  #count = 0;

  constructor(capacity: number) {
    this.#hashes = new Float64Array(Math.max(1_024, capacity));
  }

  add(hash: number): void {
    if (this.#count === this.#hashes.length) {
      const grown = new Float64Array(this.#count * 2);
      grown.set(this.#hashes);
      this.#hashes = grown;
    }
    this.#hashes[this.#count++] = hash;
  }

  finish(): Float64Array {
    const sorted = this.#hashes.subarray(0, this.#count).sort();
    let count = 0;
    for (let i = 0; i < sorted.length; i++)
      if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[count++] = sorted[i] ?? 0;
    return sorted.subarray(0, count);
  }
}

function addAddresses(segment: Segment, hashes: HashList): void {
  for (let first = 0; first < segment.addressCount; first += readCountMax) {
    const count = Math.min(readCountMax, segment.addressCount - first);
    const words = wordsOf(segment.readKeys(first, count));
    for (let i = 0; i < count; i++)
      hashes.add(hashKeyAt('address', words, i * addressWords, addressWords));
  }
}

const signatureSection = SECTIONS.indexOf('signatures');

/** Signatures are stored as they are. A segment of another layout is decoded. */
function addSignatures(segment: Segment, hashes: HashList): void {
  const { sections, groups } = segment.directory;
  const isPlain = isPlainSignatures(sections[signatureSection]);
  groups.forEach((group, number) => {
    const section = group.sections[signatureSection];
    const bytes =
      isPlain && section !== undefined
        ? segment.readPlain(section.offset, section.storedLength, `group ${number}.signatures`)
        : segment.readGroup(number).txSignatures.values;
    const words = wordsOf(bytes);
    for (let at = 0; at < words.length; at += signatureWords)
      hashes.add(hashKeyAt('signature', words, at, signatureWords));
  });
}

function addClasses(segment: Segment, hashes: HashList): void {
  const { classes } = new SegmentIndex(segment);
  for (let number = 0; number < classes.count; number++) {
    const { program, prefix } = classes.row(number);
    const key = segment.readKeys(program, 1);
    hashes.add(hashPrefix('class', key, prefix));
    for (const length of prefixLengths)
      if (length <= prefix.length)
        hashes.add(hashPrefix('prefix', key, prefix.subarray(0, length)));
  }
}
