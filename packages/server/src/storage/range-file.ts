import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CodedError } from '../base/errors.ts';

/** A file that never changes, read by range when asked. Reads block, so this is for worker threads and tools. */
export interface RangeFile {
  readonly length: number;
  read(offset: number, length: number): Uint8Array;
  /** Fills the target, or as much of it as there is; answers how much. */
  readInto(offset: number, target: Uint8Array): number;
  close(): void;
}

export function openRangeFile(path: string): RangeFile {
  const descriptor = openOrRefuse(path);
  const { size } = fstatSync(descriptor);
  const readInto = (offset: number, target: Uint8Array): number => {
    let filled = 0;
    while (filled < target.length) {
      const count = readSync(descriptor, target, filled, target.length - filled, offset + filled);
      // A file that ends early gives what there is; lengths and checksums inside it then tell.
      if (count === 0) break;
      filled += count;
    }
    return filled;
  };
  const read = (offset: number, length: number): Uint8Array => {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readInto(offset, bytes));
  };
  return { length: size, read, readInto, close: () => closeSync(descriptor) };
}

function openOrRefuse(path: string): number {
  const unreadable = (cause: unknown) => new CodedError('file-unreadable', { path }, { cause });
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw unreadable(error);
  }
}
