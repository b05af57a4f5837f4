/**
 * Finds out whether a segment can have a signature, from two short reads of its signature index. A segment is excluded only
 * by bytes whose checksums match: if anything is wrong, the complete lookup, which opens the segment, reports it.
 */
import type { ByteRange } from '../../object-store/object-store.ts';
import { chunkBytes, findDamagedChunk } from '../encoding/chunk-checksums.ts';
import { SECTIONS, shapeOf } from '../layout/columns.ts';
import type { StoredSection } from '../layout/directory.ts';
import type { GroupEntry } from '../layout/group-entry.ts';
import type { Segment } from '../read/open-segment.ts';
import { decodeBucket, hasFingerprint, locateBucket } from './hash-index.ts';
import { SegmentIndex } from './segment-index.ts';
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

const section = SECTIONS.indexOf('signatures');
const signatureBytes = 64;

/**
 * Returns whether a transaction of the segment has the signature. It compares stored bytes and decodes nothing, so it also
 * returns true if the index lists a transaction but the signatures are not stored as this version writes them.
 */
export function hasSignature(segment: Segment, signature: Uint8Array): boolean {
  const candidates = new SegmentIndex(segment).findSignature(signature);
  if (candidates.length === 0) return false;
  if (!isPlainSignatures(segment.directory.sections[section])) return true;
  return candidates.some((transaction) => isOnPage(segment, transaction, signature));
}

/** Returns whether the section has the signatures one after another, and nothing else. */
export function isPlainSignatures(stored: StoredSection | undefined): boolean {
  const [column, ...others] = stored?.columns ?? [];
  const isOurs = column?.id === shapeOf('txSignatures').id && column.unit === signatureBytes;
  return isOurs && others.length === 0 && stored?.isPacked === false;
}

/** Returns whether the page of the transaction has the signature. A page has a few transactions of the same segment. */
function isOnPage(segment: Segment, transaction: number, signature: Uint8Array): boolean {
  const { groups } = segment.directory;
  const number = groups.findLastIndex((group) => group.firstTransaction <= transaction);
  const group = groups[number] as GroupEntry;
  const page = Math.floor((transaction - group.firstTransaction) / group.pageTransactions);
  const lengths = segment.readPageTable(number)[section] ?? new Uint32Array(0);
  let offset = group.sections[section]?.offset ?? 0;
  for (const length of lengths.subarray(0, page)) offset += length;
  const bytes = segment.readPlain(offset, lengths[page] ?? 0, `group ${number}.signatures`);
  for (let at = 0; at < bytes.length; at += signatureBytes)
    if (Buffer.compare(bytes.subarray(at, at + signatureBytes), signature) === 0) return true;
  return false;
}
