/** What stands in a dataset's folder beside its manifest. */
import { CodedError, isCodedError } from '../base/errors.ts';
import type { Fs } from '../storage/fs.ts';
import { journalNamePattern } from '../storage/journal.ts';

export const segmentSuffix = '.segment';

/** Whether anything was ever kept there, with or without a manifest. */
export async function hasBlocks(folder: string, fs: Fs): Promise<boolean> {
  return (await hasJournal(folder, fs)) || (await listSegments(folder, fs)).length > 0;
}

/**
 * The journal says which segments there are, and what it does not name is removed: without one that would be everything.
 * A dataset has a journal before its first segment, so one that has segments alone has lost it.
 */
export async function refuseLostJournal(folder: string, fs: Fs): Promise<void> {
  const { length } = await listSegments(folder, fs);
  if (length > 0 && !(await hasJournal(folder, fs))) {
    throw new CodedError('journal-missing', { segments: length });
  }
}

async function hasJournal(folder: string, fs: Fs): Promise<boolean> {
  const names = await listIfThere(`${folder}/journal`, fs);
  return names.some((name) => journalNamePattern.test(name));
}

async function listSegments(folder: string, fs: Fs): Promise<string[]> {
  const names = await listIfThere(`${folder}/segments`, fs);
  return names.filter((name) => name.endsWith(segmentSuffix));
}

/** The names in a folder; none where there is no such folder. */
export async function listIfThere(folder: string, fs: Fs): Promise<string[]> {
  try {
    return await fs.list(folder);
  } catch (error) {
    if (isCodedError(error, 'storage-missing')) return [];
    throw error;
  }
}
