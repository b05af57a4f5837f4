import {
  constants,
  type FileHandle,
  open,
  readdir,
  rename,
  rm,
  statfs,
  unlink,
} from 'node:fs/promises';
import { CodedError, type ErrorCode } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { DiskSpace, Fs, FsFile, OpenMode } from './fs.ts';
import { makeFolder } from './make-folder.ts';

export const nodeFs: Fs = {
  makeFolder: (path) => guard('make folder', () => makeFolder(path)),
  list: (path) => guard('list folder', async () => (await readdir(path)).sort()),
  openFile: (path, mode) =>
    guard('open file', async () => new NodeFile(await open(path, flagsOf(mode), 0o640))),
  rename: (from, to) => guard('rename', () => rename(from, to)),
  remove: (path) => guard('remove file', () => unlink(path)),
  removeFolder: (path) => guard('remove folder', () => rm(path, { recursive: true, force: true })),
  syncFolder: (path) => guard('sync folder', () => syncFolder(path)),
  space: (path) => guard('read free space', () => readSpace(path)),
};

class NodeFile implements FsFile {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  size(): Promise<number> {
    return guard('stat file', async () => (await this.#handle.stat()).size);
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    return guard('read file', async () => {
      const bytes = new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await this.#handle.read(
          bytes,
          filled,
          length - filled,
          offset + filled,
        );
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.subarray(0, filled);
    });
  }

  write(offset: number, parts: readonly Uint8Array[]): Promise<void> {
    return guard('write file', async () => {
      let position = offset;
      for (const part of parts) {
        let written = 0;
        while (written < part.byteLength) {
          const rest = part.byteLength - written;
          const { bytesWritten } = await this.#handle.write(part, written, rest, position);
          written += bytesWritten;
          position += bytesWritten;
        }
      }
    });
  }

  truncate(length: number): Promise<void> {
    return guard('truncate file', () => this.#handle.truncate(length));
  }

  sync(): Promise<void> {
    return guard('sync file', () => this.#handle.datasync());
  }

  close(): Promise<void> {
    return guard('close file', () => this.#handle.close());
  }
}

/** A symbolic link in the place of a file is refused (ELOOP), so that nothing outside a data folder is read or written. Folders may be links. */
function flagsOf(mode: OpenMode): number {
  if (mode === 'read') return constants.O_RDONLY | constants.O_NOFOLLOW;
  if (mode === 'write') return constants.O_RDWR | constants.O_NOFOLLOW;
  return constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

async function guard<T>(operation: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw storageError(operation, error);
  }
}

type StorageCode = Extract<ErrorCode, `storage-${string}`>;

const codes: Readonly<Record<string, Exclude<StorageCode, 'storage-unreachable'>>> = {
  ENOENT: 'storage-missing',
  // A component of the path is a file.
  ENOTDIR: 'storage-missing',
  ENOSPC: 'storage-full',
  EDQUOT: 'storage-full',
  EFBIG: 'storage-full',
  EACCES: 'storage-forbidden',
  EPERM: 'storage-forbidden',
};

/** Converts a system error. The path is only in the cause, which goes to the operator's log and never to a client. */
function storageError(operation: string, cause: unknown): CodedError {
  const errno = systemErrorCode(cause) ?? 'unknown';
  const code = codes[errno] ?? 'storage-failed';
  return new CodedError(code, { operation, errno }, { cause });
}
