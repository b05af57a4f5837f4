import { isCodedError } from '@sluice/base/errors';

/**
 * The file system interface that components receive, so that a test can replace it and inject faults. Callers join
 * paths with `/`. Every failure is a coded error: `storage-missing` if the path does not exist, `storage-full`,
 * `storage-forbidden`, otherwise `storage-failed`.
 */
export interface Fs {
  /** Creates a folder and its missing parents. Does nothing if it exists. */
  makeFolder(path: string): Promise<void>;
  /** Returns the names in a folder, sorted. */
  list(path: string): Promise<string[]>;
  openFile(path: string, mode: OpenMode): Promise<FsFile>;
  /** Renames a file atomically and replaces an existing one. Durable only after `syncFolder`. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Removes a folder and its contents. */
  removeFolder(path: string): Promise<void>;
  /** Makes the creations, renames and removals in a folder durable. */
  syncFolder(path: string): Promise<void>;
  space(path: string): Promise<DiskSpace>;
}

/** `create` fails if the file exists, `write` fails if it does not. Both also allow reading. */
export type OpenMode = 'read' | 'write' | 'create';

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface FsFile {
  size(): Promise<number>;
  /** Returns fewer bytes than requested only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Writes all parts one after another, or fails. After a failure any part of them may have been written. */
  write(offset: number, parts: readonly Uint8Array[]): Promise<void>;
  truncate(length: number): Promise<void>;
  /** Makes the content and the length durable. After a failure the durable state of both is unknown. */
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

/** Writes a file atomically and durably: after a crash at any moment the file is either complete or absent. */
export async function writeFileAtomically(
  fs: Fs,
  folder: string,
  name: string,
  parts: readonly Uint8Array[],
): Promise<void> {
  const temporary = `${folder}/${name}${temporarySuffix}`;
  await removeIfExists(fs, temporary);
  const file = await fs.openFile(temporary, 'create');
  try {
    await file.write(0, parts);
    await file.sync();
  } catch (error) {
    // On a full disk the incomplete file would take the space that others need.
    await removeIfExists(fs, temporary).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
  await fs.rename(temporary, `${folder}/${name}`);
  await fs.syncFolder(folder);
}

/** The suffix of temporary files. A crash may leave one behind; opening the folder removes it. */
export const temporarySuffix = '.tmp';

export async function removeIfExists(fs: Fs, path: string): Promise<void> {
  try {
    await fs.remove(path);
  } catch (error) {
    if (!isCodedError(error, 'storage-missing')) throw error;
  }
}
