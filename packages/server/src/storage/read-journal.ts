/**
 * Reads a journal without opening it for writing: it creates, truncates and syncs nothing, so a writer may be active at
 * the same time.
 */
import { CodedError, isCodedError } from '@sluice/base/errors';
import { type Fs, readWholeFile } from './fs.ts';
import { type JournalContent, journalFileName, journalNamePattern } from './journal.ts';
import { type PayloadLocation, readPayload, scanJournal } from './scan-journal.ts';

export interface StoredJournal extends JournalContent {
  readonly locations: ReadonlyMap<number, PayloadLocation>;
  readonly byteLength: number;
}

/** A writer that starts a new file may remove the file that is being read, so reading is repeated. A writer does not do that several times in a row. */
const attemptCountMax = 5;

/** Returns the content of the newest file, or `undefined` for a new dataset, which has no file yet. */
export async function readJournal(folder: string, fs: Fs): Promise<StoredJournal | undefined> {
  for (let attempt = 1; ; attempt++) {
    const numbers = await listFiles(folder, fs);
    const newest = numbers.at(-1);
    if (newest === undefined) return undefined;
    try {
      return scan(await readWholeFile(fs, `${folder}/${journalFileName(newest)}`), newest);
    } catch (error) {
      if (!isCodedError(error, 'storage-missing') || attempt === attemptCountMax) throw error;
    }
  }
}

async function listFiles(folder: string, fs: Fs): Promise<number[]> {
  try {
    return (await fs.list(folder)).flatMap((name) => {
      const number = journalNamePattern.exec(name)?.[1];
      return number === undefined ? [] : [Number(number)];
    });
  } catch (error) {
    if (isCodedError(error, 'storage-missing')) return [];
    throw error;
  }
}

function scan(bytes: Uint8Array, fileNumber: number): StoredJournal {
  const { checkpoint, commits, end } = scanJournal(bytes, fileNumber);
  const locations = new Map([checkpoint, ...commits].flatMap(({ payloads }) => [...payloads]));
  const bodies = { checkpoint: checkpoint.body, commits: commits.map(({ body }) => body) };
  const truncatedBytes = bytes.length - end;
  return { ...bodies, truncatedBytes, locations, byteLength: bytes.length };
}

/** Returns the bytes of a payload after verifying their checksum. */
export async function readStoredPayload(
  folder: string,
  location: PayloadLocation | undefined,
  fs: Fs,
): Promise<Uint8Array> {
  if (location === undefined) throw new CodedError('payload-gone');
  const file = await fs.openFile(`${folder}/${journalFileName(location.fileNumber)}`, 'read');
  try {
    return await readPayload(file, location);
  } finally {
    await file.close();
  }
}
