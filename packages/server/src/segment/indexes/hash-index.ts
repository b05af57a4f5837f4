/**
 * Maps keys to numbers without storing the keys. The caller of a lookup must compare the key of each returned number.
 *
 *   blocks        for each 64 buckets: the number of entries in all buckets before them u32 · the entries of each bucket u8[64]
 *   fingerprints  u8[n], by bucket
 *   values        u24[n], aligned with the fingerprints
 *
 * A key's bucket and fingerprint come from one 32-bit hash of its bytes. A bucket has about 8 entries, so an absent key passes the
 * fingerprints in 3 % of lookups. A bucket with 255 entries is full; further entries are in the next bucket that is not. All three arrays
 * are read by position, so a lookup reads about a hundred bytes.
 */
import { assert } from '@sluice/base/assert';

export interface HashIndex {
  readonly blocks: Uint8Array;
  readonly fingerprints: Uint8Array;
  readonly values: Uint8Array;
}

const blockBuckets = 64;
const blockBytes = 4 + blockBuckets;
const bucketEntriesGoal = 8;
const bucketEntriesMax = 255;
const bucketBitsMin = Math.log2(blockBuckets);
const valueBytes = 3;
const valueMax = 0xff_ffff;

/** The hash of each entry, and its value. */
export interface HashEntries {
  readonly hashes: Uint32Array;
  readonly values: Uint32Array;
}

export function buildHashIndex({ hashes, values }: HashEntries): HashIndex {
  let bits = bucketBitsMin;
  while (bucketEntriesGoal * 2 ** bits < hashes.length) bits++;
  const { buckets, counts } = fillBuckets(hashes, bits);
  const blocks = new Uint8Array((counts.length / blockBuckets) * blockBytes);
  const view = new DataView(blocks.buffer);
  const starts = new Uint32Array(counts.length);
  let start = 0;
  let bucket = 0;
  for (const count of counts) {
    const block = Math.floor(bucket / blockBuckets) * blockBytes;
    if (bucket % blockBuckets === 0) view.setUint32(block, start, true);
    blocks[block + 4 + (bucket % blockBuckets)] = count;
    starts[bucket++] = start;
    start += count;
  }
  const fingerprints = new Uint8Array(hashes.length);
  const packed = new Uint8Array(hashes.length * valueBytes);
  for (let i = 0; i < hashes.length; i++) {
    const value = values[i] as number;
    assert(value <= valueMax, 'the values of a hash index have 24 bits');
    const entryBucket = buckets[i] as number;
    const position = starts[entryBucket] as number;
    starts[entryBucket] = position + 1;
    fingerprints[position] = (hashes[i] as number) & 0xff;
    packed[position * valueBytes] = value;
    packed[position * valueBytes + 1] = value >>> 8;
    packed[position * valueBytes + 2] = value >>> 16;
  }
  return { blocks, fingerprints, values: packed };
}

/** Returns the bucket of each entry, and the number of entries of each bucket. A full bucket overflows into the next one. */
function fillBuckets(hashes: Uint32Array, bits: number) {
  const counts = new Uint32Array(1 << bits);
  const buckets = new Uint32Array(hashes.length);
  let entry = 0;
  for (const hash of hashes) {
    let bucket = hash >>> (32 - bits);
    while (counts[bucket] === bucketEntriesMax) bucket = (bucket + 1) % counts.length;
    counts[bucket] = (counts[bucket] as number) + 1;
    buckets[entry++] = bucket;
  }
  return { buckets, counts };
}

/** Reads a byte range of one of the arrays. */
export type ReadIndexPart = (part: keyof HashIndex, offset: number, length: number) => Uint8Array;

/** Returns the values of the entries with the hash's bucket and fingerprint. */
export function lookUp(hash: number, blocksLength: number, read: ReadIndexPart): number[] {
  if (blocksLength === 0) return [];
  const bucketCount = countBuckets(blocksLength);
  const found: number[] = [];
  for (let i = 0; i < bucketCount; i++) {
    const position = locateBucket(hash, blocksLength, i);
    const bucket = decodeBucket(read('blocks', position.offset, position.length), position.inBlock);
    if (bucket.count > 0) found.push(...readValues(hash, bucket, read));
    if (!bucket.isFull) break;
  }
  return found;
}

function countBuckets(blocksLength: number): number {
  return (blocksLength / blockBytes) * blockBuckets;
}

/** The position of the count of a bucket: the byte range of a block, and the bucket's number in it. */
export interface BucketRange {
  readonly offset: number;
  readonly length: number;
  readonly inBlock: number;
}

/** Returns the position of the bucket in which a hash belongs, or of the bucket that is `after` buckets further on. */
export function locateBucket(hash: number, blocksLength: number, after = 0): BucketRange {
  const bucketCount = countBuckets(blocksLength);
  const bucket = ((hash >>> (32 - Math.log2(bucketCount))) + after) % bucketCount;
  const inBlock = bucket % blockBuckets;
  return { offset: ((bucket - inBlock) / blockBuckets) * blockBytes, length: blockBytes, inBlock };
}

/** Entries by their positions in the arrays. */
export interface Bucket {
  readonly start: number;
  readonly count: number;
  /** Whether further entries with the same hash may be in the next bucket. */
  readonly isFull: boolean;
}

export function decodeBucket(block: Uint8Array, inBlock: number): Bucket {
  let start = new DataView(block.buffer, block.byteOffset).getUint32(0, true);
  for (let i = 0; i < inBlock; i++) start += block[4 + i] as number;
  const count = block[4 + inBlock] as number;
  return { start, count, isFull: count === bucketEntriesMax };
}

/** Returns whether the fingerprints include the fingerprint of the hash. */
export function hasFingerprint(fingerprints: Uint8Array, hash: number): boolean {
  return fingerprints.includes(hash & 0xff);
}

/** Returns the values of the entries of a bucket with the fingerprint. */
function readValues(hash: number, { start, count }: Bucket, read: ReadIndexPart): number[] {
  const found: number[] = [];
  const fingerprints = read('fingerprints', start, count);
  for (let i = 0; i < count; i++) {
    if (fingerprints[i] !== (hash & 0xff)) continue;
    const [low, middle, high] = read('values', (start + i) * valueBytes, valueBytes);
    found.push((low as number) | ((middle as number) << 8) | ((high as number) << 16));
  }
  return found;
}
