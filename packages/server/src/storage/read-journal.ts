/** A journal as its files are, read without opening it: nothing is made, cut or synced, so a writer may be at work. */
import { CodedError, isCodedError } from '../base/errors.ts';
import { type Fs, readWholeFile } from './fs.ts';
import { type JournalContent, journalFileName, journalNamePattern } from './journal.ts';
import { readPayload } from './read-payload.ts';
import { type PayloadPlace, scanJournal } from './scan-journal.ts';

export interface StoredJournal extends Pick<JournalContent, 'checkpoint' | 'commits'> {
  readonly places: ReadonlyMap<number, PayloadPlace>;
  /** The size of the file. */
  readonly byteLength: number;
}

/** A writer that begins a new file removes the old one, now and then; several times in a row it does not. */
const attemptCountMax = 5;

/** What the newest file says; `undefined` if there is none yet. */
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
  const { checkpoint, commits } = scanJournal(bytes, fileNumber);
  const places = new Map([checkpoint, ...commits].flatMap(({ payloads }) => [...payloads]));
  const bodies = { checkpoint: checkpoint.body, commits: commits.map(({ body }) => body) };
  return { ...bodies, places, byteLength: bytes.length };
}

/** The bytes of a payload of a journal that was read, checked. */
export async function readStoredPayload(
  folder: string,
  place: PayloadPlace | undefined,
  fs: Fs,
): Promise<Uint8Array> {
  if (place === undefined) throw new CodedError('payload-gone');
  const file = await fs.openFile(`${folder}/${journalFileName(place.fileNumber)}`, 'read');
  try {
    return await readPayload(file, place);
  } finally {
    await file.close();
  }
}
