import { addDetail, CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { memberOf } from '@sluice/protocol/unknown-value';
import type { SegmentBytes } from '../segment/read/open-segment.ts';
import { openRangeFile } from '../storage/range-file.ts';

export interface MeteredFile {
  readonly path: string;
  readonly bytes: SegmentBytes;
  readonly meter: { readCount: number; bytesRead: number };
  close(): void;
}

export function openMeteredFile(path: string): MeteredFile {
  const file = openRangeFile(path, 'followed');
  const meter = { readCount: 0, bytesRead: 0 };
  const read = (offset: number, length: number): Uint8Array => {
    const bytes = file.read(offset, length);
    meter.readCount++;
    meter.bytesRead += bytes.length;
    return bytes;
  };
  const readInto = (offset: number, target: Uint8Array): number => {
    const count = file.readInto(offset, target);
    meter.readCount++;
    meter.bytesRead += count;
    return count;
  };
  return { path, bytes: { length: file.length, read, readInto }, meter, close: () => file.close() };
}

/** Runs a function on a file. Errors contain the file. */
export function naming<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw withFile(error, path);
  }
}

function withFile(error: unknown, path: string): unknown {
  if (isCodedError(error) && /^(segment|query|range)-/.test(error.code)) {
    return addDetail(error, { file: path });
  }
  const reason = systemErrorCode(error);
  if (memberOf(error, 'syscall') === undefined || reason === undefined) return error;
  return new CodedError('cli-file-unreadable', { path, reason }, { cause: error });
}
