/** Lists the files of a dataset's folder other than its manifest. */
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { Fs } from '../storage/fs.ts';
import { journalNamePattern } from '../storage/journal.ts';

export const segmentSuffix = '.segment';

/** Returns whether the folder contains a journal or segments, with or without a manifest. */
export async function hasBlocks(folder: string, fs: Fs): Promise<boolean> {
  return (await hasJournal(folder, fs)) || (await listSegments(folder, fs)).length > 0;
}

/**
 * Throws `journal-missing` if the folder has segments but no journal. The journal lists the segments of a dataset, and
 * segments that it does not list are removed as unused; without a journal that would remove all of them. A dataset gets
 * its journal before its first segment, so segments alone mean that the journal was lost.
 */
export async function checkJournalExists(folder: string, fs: Fs): Promise<void> {
  const { length } = await listSegments(folder, fs);
  if (length > 0 && !(await hasJournal(folder, fs))) {
    throw new CodedError('journal-missing', { segments: length });
  }
}

async function hasJournal(folder: string, fs: Fs): Promise<boolean> {
  const names = await listIfExists(`${folder}/journal`, fs);
  return names.some((name) => journalNamePattern.test(name));
}

async function listSegments(folder: string, fs: Fs): Promise<string[]> {
  const names = await listIfExists(`${folder}/segments`, fs);
  return names.filter((name) => name.endsWith(segmentSuffix));
}

/** Returns the names in a folder, or an empty list if it does not exist. */
export async function listIfExists(folder: string, fs: Fs): Promise<string[]> {
  try {
    return await fs.list(folder);
  } catch (error) {
    if (isCodedError(error, 'storage-missing')) return [];
    throw error;
  }
}
