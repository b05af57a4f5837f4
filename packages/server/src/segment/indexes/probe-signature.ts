/**
 * Finds out whether a segment can have a signature, from two short reads of its signature index. A segment is excluded only
 * by bytes whose checksums match: if anything is wrong, the complete lookup, which opens the segment, reports it.
 */
import type { ByteRange } from '../../object-store/object-store.ts';
import { chunkBytes, findDamagedChunk } from '../encoding/chunk-checksums.ts';
import { decodeBucket, hasFingerprint, locateBucket } from './hash-index.ts';
import type { SignatureIndexRange } from './signature-index-range.ts';

/** Yields the byte ranges that it needs, receives their bytes, and returns the result. The caller may read in any way. */
export type Probe = Generator<readonly ByteRange[], boolean, readonly Uint8Array[]>;

export function* probeSignature(hash: number, range: SignatureIndexRange): Probe {
  const { offset, blockBytes } = range;
  if (blockBytes === 0) return false;
  const home = locateBucket(hash, blockBytes);
  const block = yield* readVerified(offset + home.offset, home.length, range);
  if (block === undefined) return true;
  const bucket = decodeBucket(block, home.inBlock);
  if (bucket.isFull) return true;
  if (bucket.count === 0) return false;
  const start = offset + blockBytes + bucket.start;
  const fingerprints = yield* readVerified(start, bucket.count, range);
  return fingerprints === undefined || hasFingerprint(fingerprints, hash);
}

/** Returns bytes of the plain part, or undefined if they are damaged. */
function* readVerified(
  offset: number,
  length: number,
  { plainBytes, checksums }: SignatureIndexRange,
): Generator<readonly ByteRange[], Uint8Array | undefined, readonly Uint8Array[]> {
  const first = Math.floor(offset / chunkBytes);
  const end = Math.ceil((offset + length) / chunkBytes);
  const chunks = { start: first * chunkBytes, end: Math.min(end * chunkBytes, plainBytes) };
  const sums = { start: checksums + first * 4, end: checksums + end * 4 };
  const [bytes, expected] = yield [chunks, sums];
  if (bytes === undefined || expected === undefined) return undefined;
  const isWhole =
    bytes.length === chunks.end - chunks.start && expected.length === sums.end - sums.start;
  if (!isWhole || findDamagedChunk(bytes, expected) >= 0) return undefined;
  return bytes.subarray(offset - chunks.start, offset - chunks.start + length);
}
