import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CodedError } from '../base/errors.ts';

/** A file that never changes, read by range when asked. Reads block, so this is for worker threads and tools. */
export interface RangeFile {
  readonly length: number;
  read(offset: number, length: number): Uint8Array;
  close(): void;
}

export function openRangeFile(path: string): RangeFile {
  const descriptor = openOrRefuse(path);
  const { size } = fstatSync(descriptor);
  return {
    length: size,
    read: (offset, length) => {
      const bytes = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const count = readSync(descriptor, bytes, filled, length - filled, offset + filled);
        // A file that ends early gives what there is; lengths and checksums inside it then tell.
        if (count === 0) return bytes.subarray(0, filled);
        filled += count;
      }
      return bytes;
    },
    close: () => closeSync(descriptor),
  };
}

function openOrRefuse(path: string): number {
  const unreadable = (cause: unknown) => new CodedError('file-unreadable', { path }, { cause });
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw unreadable(error);
  }
}
