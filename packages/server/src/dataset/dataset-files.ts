/** Lists the files of a dataset's folder other than its manifest. */
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import { type Fs, removeIfExists, temporarySuffix } from '../storage/fs.ts';
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
  if (await hasJournal(folder, fs)) return;
  const { length } = await listSegments(folder, fs);
  if (length > 0) throw new CodedError('journal-missing', { segments: length });
}

async function hasJournal(folder: string, fs: Fs): Promise<boolean> {
  const names = await listIfExists(`${folder}/journal`, fs);
  return names.some((name) => journalNamePattern.test(name));
}

async function listSegments(folder: string, fs: Fs): Promise<string[]> {
  const names = await listIfExists(`${folder}/segments`, fs);
  return names.filter((name) => name.endsWith(segmentSuffix));
}

/**
 * Removes the segments that a dataset of an older format does not describe: trims, and crashes between a file and its commit, have left them.
 * Other files stay.
 */
export async function removeUnlistedSegments(
  folder: string,
  segments: readonly SealedSegment[],
  fs: Fs,
): Promise<void> {
  const listed = new Set(segments.map(({ id }) => id));
  for (const name of await listIfExists(`${folder}/segments`, fs)) {
    const isOurs = name.endsWith(temporarySuffix) || name.endsWith(segmentSuffix);
    if (isOurs && !listed.has(name)) await removeIfExists(fs, `${folder}/segments/${name}`);
  }
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
