import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CodedError } from '../base/errors.ts';
import type { SegmentBytes } from './open-segment.ts';

export interface SegmentFile extends SegmentBytes {
  close(): void;
}

/** A segment's file, read by range when asked. Reads block, so this is for worker threads and tools. */
export function openSegmentFile(path: string): SegmentFile {
  const descriptor = openOrRefuse(path);
  const { size } = fstatSync(descriptor);
  return {
    length: size,
    read: (offset, length) => {
      const bytes = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const count = readSync(descriptor, bytes, filled, length - filled, offset + filled);
        // A file that ends early gives what there is; the unit's length and checksum then tell.
        if (count === 0) return bytes.subarray(0, filled);
        filled += count;
      }
      return bytes;
    },
    close: () => closeSync(descriptor),
  };
}

function openOrRefuse(path: string): number {
  const unreadable = (cause: unknown) => new CodedError('segment-unreadable', { path }, { cause });
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw unreadable(error);
  }
}
