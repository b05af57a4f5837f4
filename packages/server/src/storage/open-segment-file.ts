import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { openRangeFile, type RangeFile } from './range-file.ts';

/**
 * Opens the file of a segment. A file that is missing from its folder is lost. If the whole folder is missing, its disk may not be mounted,
 * which is no statement about the segment.
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
