import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { openRangeFile, type RangeFile } from './range-file.ts';

/**
 * Opens the file of a segment. Throws `segment-missing` if the file does not exist but its folder does. If the folder does not exist either,
 * its disk may not be mounted, so the segment is not reported as lost.
 */
export function openSegmentFile(path: string): RangeFile {
  try {
    return openRangeFile(path);
  } catch (error) {
    throw isLost(path, error) ? new CodedError('segment-missing', { path }) : error;
  }
}

function isLost(path: string, error: unknown): boolean {
  const isMissing = isCodedError(error) && systemErrorCode(error.cause) === 'ENOENT';
  return isMissing && existsSync(dirname(path));
}
