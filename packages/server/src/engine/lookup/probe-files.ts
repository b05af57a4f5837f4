/**
 * Finds the files whose segments have a signature. Most are excluded by a few short reads; the directory of the others is read, and the
 * stored signatures are compared.
 */
import { isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { Steps } from '@sluice/base/time-slices';
import type { CachedLocation } from '../../object-store/cached-range-file.ts';
import type { ByteRange } from '../../object-store/object-store.ts';
import { hasSignature, probeSignature } from '../../segment/indexes/probe-signature.ts';
import { hashSignature } from '../../segment/indexes/segment-index.ts';
import {
  locateSignatureIndex,
  type SignatureIndexRange,
} from '../../segment/indexes/signature-index-range.ts';
import { openSegment, type SegmentBytes } from '../../segment/read/open-segment.ts';

/** A segment's file, or the cache file of one in an object store. */
export type ProbeFile = {
  /** Undefined if it has to be read from the directory of the segment. */
  readonly index: SignatureIndexRange | undefined;
} & ({ readonly kind: 'file'; readonly path: string } | CachedLocation);

export type ProbeResult =
  /** Whether the segment can have the signature. */
  | boolean
  /** The range of the index had to be read from the directory. The caller may give it the next time. */
  | { readonly kind: 'located'; readonly canHave: boolean; readonly index: SignatureIndexRange }
  /** Parts of an object that are not in its cache file yet. */
  | { readonly kind: 'missing'; readonly ranges: readonly ByteRange[] };

interface Wanted {
  readonly signature: Uint8Array;
  readonly hash: number;
}

export interface ProbedFile extends SegmentBytes {
  close(): void;
  /** Returns those of the ranges that have to be fetched first. */
  missing?(ranges: readonly ByteRange[]): readonly ByteRange[];
}

export type OpenProbedFile = (file: ProbeFile) => ProbedFile;

/** Opens one file at a time, so that a thread needs one file descriptor for any number of segments. */
export function* probeFiles(
  signature: Uint8Array,
  files: readonly ProbeFile[],
  open: OpenProbedFile,
): Steps<ProbeResult[]> {
  const wanted = { signature, hash: hashSignature(signature) };
  const results: ProbeResult[] = [];
  for (const file of files) {
    results.push(probeFile(wanted, file, open));
    yield;
  }
  return results;
}

/** A file that cannot be read counts as one that can have the signature: the complete lookup then reports the reason. */
function probeFile(wanted: Wanted, file: ProbeFile, open: OpenProbedFile): ProbeResult {
  try {
    const opened = open(file);
    try {
      const result = file.index === undefined || probe(wanted.hash, file.index, opened);
      // The complete lookup fetches a directory in the same way.
      if (result !== true || file.kind === 'cached') return result;
      const segment = openSegment(opened);
      const canHave = hasSignature(segment, wanted.signature);
      const index = file.index === undefined ? locateSignatureIndex(segment) : undefined;
      return index === undefined ? canHave : { kind: 'located', canHave, index };
    } finally {
      opened.close();
    }
  } catch (error) {
    if (!isCodedError(error) && systemErrorCode(error) === undefined) throw error;
    return true;
  }
}

function probe(hash: number, index: SignatureIndexRange, file: ProbedFile): ProbeResult {
  const steps = probeSignature(hash, index);
  let step = steps.next();
  while (step.done !== true) {
    const ranges = file.missing?.(step.value) ?? [];
    if (ranges.length > 0) return { kind: 'missing', ranges };
    step = steps.next(step.value.map(({ start, end }) => file.read(start, end - start)));
  }
  return step.value;
}
