import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { CodedError } from '@sluice/base/errors';
import { temporarySuffix } from './fs.ts';

/** An immutable file that is read by byte range. Reads are synchronous, so only worker threads and tools use it. */
export interface RangeFile {
  readonly length: number;
  read(offset: number, length: number): Uint8Array;
  /** Fills the target, up to the end of the file, and returns the number of bytes read. */
  readInto(offset: number, target: Uint8Array): number;
  close(): void;
}

/** Opens a file of a data folder, which is not a symbolic link. A file that a user names may be one. */
export function openRangeFile(path: string, links: 'refused' | 'followed' = 'refused'): RangeFile {
  const noFollow = links === 'refused' ? constants.O_NOFOLLOW : 0;
  return new LocalRangeFile(openOrThrow(path, constants.O_RDONLY | noFollow));
}

class LocalRangeFile implements RangeFile {
  readonly #descriptor: number;
  #length: number | undefined;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  get length(): number {
    this.#length ??= fstatSync(this.#descriptor).size;
    return this.#length;
  }

  read(offset: number, length: number): Uint8Array {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, this.readInto(offset, bytes));
  }

  readInto(offset: number, target: Uint8Array): number {
    const { length } = target;
    let filled = 0;
    while (filled < length) {
      const count = readSync(this.#descriptor, target, filled, length - filled, offset + filled);
      // A truncated file gives fewer bytes. The lengths and checksums inside the segment detect that.
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function openOrThrow(path: string, flags: number): number {
  const unreadable = (cause: unknown) => new CodedError('file-unreadable', { path }, { cause });
  try {
    return openSync(path, flags);
  } catch (error) {
    throw unreadable(error);
  }
}

export type WriteAt = (position: number, bytes: Uint8Array) => void;

/** Creates a file that a thread writes by position. The file gets its name when its content is durable. */
export function writeFileDurably<Result>(path: string, fill: (write: WriteAt) => Result): Result {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}${temporarySuffix}`;
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const file = openSync(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  let result: Result;
  try {
    result = fill((position, bytes) => writeAll(file, bytes, position));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  syncFolder(dirname(path));
  return result;
}

/** Writes all bytes at a position of the file, or, without a position, after the bytes that were written last. */
export function writeAll(file: number, bytes: Uint8Array, position?: number): void {
  for (let done = 0; done < bytes.length; ) {
    const at = position === undefined ? null : position + done;
    done += writeSync(file, bytes, done, bytes.length - done, at);
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
