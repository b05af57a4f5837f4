import { CodedError } from '@sluice/base/errors';
import { openSegment1 } from '../format-1/open-segment-1.ts';
import { formatVersion, headerBytes, readVersion } from '../layout/directory.ts';
import { openSegment } from '../read/open-segment.ts';
import type { RowSegment } from './merge-segments.ts';

/** Opens a segment of this or an older format, to append its rows to another segment. */
export function openAnySegment(bytes: Uint8Array): RowSegment {
  const version = readVersion(bytes.subarray(0, headerBytes));
  switch (version) {
    case formatVersion:
      return openSegment(bytes);
    case 1:
      return openSegment1(bytes);
    default:
      throw new CodedError('segment-version-unknown', { version, known: formatVersion });
  }
}

/** Returns whether a segment must be converted before queries can read it. */
export function isOlderFormat(header: Uint8Array): boolean {
  return readVersion(header) < formatVersion;
}
