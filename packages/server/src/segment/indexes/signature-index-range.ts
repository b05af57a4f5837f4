import { PART } from '../layout/directory.ts';
import type { Segment } from '../read/open-segment.ts';

/**
 * Where the signature index of a segment is in its file. The chain's list of segments keeps it, so that a lookup reads a few
 * kilobytes of a segment without its directory.
 */
export interface SignatureIndexRange {
  /** The position of the blocks of the index. Its fingerprints follow them. */
  readonly offset: number;
  readonly blockBytes: number;
  /** The end of the plain part, and the position of the checksums of its chunks. */
  readonly plainBytes: number;
  readonly checksums: number;
}

/** Returns where the index is, or undefined if the parts of the segment are not where a lookup would expect them. */
export function locateSignatureIndex(segment: Segment): SignatureIndexRange | undefined {
  const blocks = segment.partEntry(PART.signatureIndex, 0);
  const fingerprints = segment.partEntry(PART.signatureIndex, 1);
  const checksums = segment.partEntry(PART.checksums, 0);
  const isAdjacent = fingerprints.offset === blocks.offset + blocks.storedLength;
  // Compressed checksums could not be read by position.
  if (!isAdjacent || checksums.storedLength !== checksums.rawLength) return undefined;
  return {
    offset: blocks.offset,
    blockBytes: blocks.storedLength,
    plainBytes: segment.directory.plainBytes,
    checksums: checksums.offset,
  };
}
