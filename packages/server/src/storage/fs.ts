import { isCodedError } from '../base/errors.ts';

/**
 * The disk as a collaborator, so that a test can own it and break it. Paths are joined with `/` and belong to the caller.
 * Every failure is a coded error: `storage-missing` where nothing is there, `storage-full`,
 * `storage-forbidden`, else `storage-failed`.
 */
export interface Fs {
  /** Makes a folder and those above it. Nothing happens if it is there. */
  makeFolder(path: string): Promise<void>;
  /** The names in a folder, sorted. */
  list(path: string): Promise<string[]>;
  openFile(path: string, mode: OpenMode): Promise<FsFile>;
  /** Atomic; replaces what is there. Durable only after `syncFolder`. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Removes a folder with everything in it. */
  removeFolder(path: string): Promise<void>;
  /** Makes creations, renames and removals in a folder durable. */
  syncFolder(path: string): Promise<void>;
  space(path: string): Promise<DiskSpace>;
}

/** `create` refuses a file that is there; `write` needs one. Both also read. */
export type OpenMode = 'read' | 'write' | 'create';

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface FsFile {
  size(): Promise<number>;
  /** Fewer bytes than asked for only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Writes all parts one after another, or fails; after a failure anything may have been written. */
  write(offset: number, parts: readonly Uint8Array[]): Promise<void>;
  truncate(length: number): Promise<void>;
  /** Makes the bytes and the length durable. After a failure nothing is known of either. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export async function readWholeFile(fs: Fs, path: string): Promise<Uint8Array> {
  const file = await fs.openFile(path, 'read');
  try {
    return await file.read(0, await file.size());
  } finally {
    await file.close();
  }
}

/** Writes a file that is there whole and durable, or not at all, whatever happens meanwhile. */
export async function writeFileAtomically(
  fs: Fs,
  folder: string,
  name: string,
  parts: readonly Uint8Array[],
): Promise<void> {
  const temporary = `${folder}/${name}${temporarySuffix}`;
  await removeIfThere(fs, temporary);
  const file = await fs.openFile(temporary, 'create');
  try {
    await file.write(0, parts);
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.rename(temporary, `${folder}/${name}`);
  await fs.syncFolder(folder);
}

/** What a crash may leave behind; whoever opens a folder removes it. */
export const temporarySuffix = '.tmp';

export async function removeIfThere(fs: Fs, path: string): Promise<void> {
  try {
    await fs.remove(path);
  } catch (error) {
    if (!isCodedError(error, 'storage-missing')) throw error;
  }
}
