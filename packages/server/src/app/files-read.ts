/**
 * The list of imported files in `files-read.json` of a dataset, so that a restart does not read them again. The list can be deleted
 * without harm, because stored blocks are skipped.
 */

import { stat } from 'node:fs/promises';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { type Fs, readWholeFile, writeFileAtomically } from '../storage/fs.ts';

const fileName = 'files-read.json';

/** The state of each file when it was completely read, by path. */
export type FilesRead = Map<string, string>;

export async function loadFilesRead(folder: string, fs: Fs): Promise<FilesRead> {
  try {
    const bytes = await readWholeFile(fs, `${folder}/${fileName}`);
    const entries = Object.entries(JSON.parse(new TextDecoder().decode(bytes)) as object);
    return new Map(entries.filter(([, state]) => typeof state === 'string'));
  } catch (error) {
    if (isCodedError(error, 'storage-missing') || error instanceof SyntaxError) return new Map();
    throw error;
  }
}

export async function saveFilesRead(folder: string, read: FilesRead, fs: Fs): Promise<void> {
  const text = `${JSON.stringify(Object.fromEntries(read), null, 2)}\n`;
  await writeFileAtomically(fs, folder, fileName, [new TextEncoder().encode(text)]);
}

/** Returns the state of a file. A changed length or time makes it another file. A pipe has no length. */
export async function describeFile(
  path: string,
): Promise<{ readonly byteLength: number | null; readonly state: string }> {
  try {
    const stats = await stat(path);
    const { size, mtimeMs } = stats;
    return {
      byteLength: stats.isFile() ? size : null,
      state: `${size} bytes, ${new Date(mtimeMs).toISOString()}`,
    };
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: unknown): CodedError {
  const reason = systemErrorCode(cause) ?? '';
  return new CodedError('cli-file-unreadable', { path, reason }, { cause });
}
