/**
 * The write-ahead log of one dataset: a folder of numbered files.
 *
 *   journal/0000000007.journal   checkpoint · commit · commit · …
 *   journal/0000000008.journal   checkpoint · commit · …            ◄ appended to
 *
 * A commit is durable when `append` resolves. A file begins with a checkpoint of the whole state, so only the newest
 * file is read when the journal is opened. Older files are kept while a payload in them is still needed. The content of
 * commits and checkpoints is JSON text that the caller defines. Payloads are opaque bytes with an id.
 *
 * After a failed write or sync the journal accepts no more writes: the state of the disk is unknown until it is read
 * again, and a repeated sync may report success without having written anything. The owner closes the journal and opens
 * it again, which starts a new file.
 */
import { crc32 } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import {
  type Fs,
  type FsFile,
  readWholeFile,
  removeIfExists,
  temporarySuffix,
  writeFileAtomically,
} from './fs.ts';
import { encodeRecord, recordHeaderBytes } from './journal-record.ts';
import {
  checkpointRow,
  commitRow,
  type PayloadLocation,
  readPayload,
  scanJournal,
} from './scan-journal.ts';

export interface JournalOptions {
  readonly folder: string;
  /** The size above which a file is full. The owner then calls `rotate`. */
  readonly fileBytesMax: number;
}

export interface Payload {
  readonly id: number;
  readonly bytes: Uint8Array;
}

export interface JournalContent {
  /** The body of the last checkpoint, or null if the journal is new. */
  readonly checkpoint: unknown;
  /** The bodies of the commits after the checkpoint, in order. */
  readonly commits: readonly unknown[];
  /** The length of the incomplete or damaged record at the end of the file. It is truncated when the journal is opened for writing. */
  readonly truncatedBytes: number;
}

export const journalNamePattern = /^(\d{10})\.journal$/;
/** A record is read and written as a whole, so its size is limited. */
const recordBytesMax = 1024 * 1024 * 1024;

export class Journal {
  readonly #options: JournalOptions;
  readonly #fs: Fs;
  readonly #locations = new Map<number, PayloadLocation>();
  readonly #readers = new Map<number, Promise<FsFile>>();
  #fileNumbers: number[] = [];
  #file: FsFile | undefined;
  #end = 0;
  #sequence = 0;
  #state: 'open' | 'writing' | 'failed' | 'closed' = 'open';

  private constructor(options: JournalOptions, fs: Fs) {
    this.#options = options;
    this.#fs = fs;
  }

  /**
   * Opens a journal, creating its folder if necessary. If the journal is new, the caller must call `rotate` next, which
   * writes the first checkpoint.
   */
  static async open(
    options: JournalOptions,
    dependencies: { readonly fs: Fs },
  ): Promise<{ journal: Journal; content: JournalContent }> {
    const journal = new Journal(options, dependencies.fs);
    await dependencies.fs.makeFolder(options.folder);
    try {
      return { journal, content: await journal.#recover() };
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  async #recover(): Promise<JournalContent> {
    for (const name of await this.#fs.list(this.#options.folder)) {
      if (name.endsWith(temporarySuffix)) await this.#fs.remove(`${this.#options.folder}/${name}`);
      const number = journalNamePattern.exec(name)?.[1];
      if (number !== undefined) this.#fileNumbers.push(Number(number));
    }
    const newest = this.#fileNumbers.at(-1);
    if (newest === undefined) return { checkpoint: null, commits: [], truncatedBytes: 0 };
    const bytes = await readWholeFile(this.#fs, this.#path(newest));
    const scanned = scanJournal(bytes, newest);
    for (const record of [scanned.checkpoint, ...scanned.commits]) {
      for (const [id, location] of record.payloads) this.#locations.set(id, location);
      this.#sequence = record.sequence;
    }
    const truncatedBytes = bytes.byteLength - scanned.end;
    this.#file = await this.#fs.openFile(this.#path(newest), 'write');
    if (truncatedBytes > 0) await this.#file.truncate(scanned.end);
    // If the last owner was killed between its write and its sync, the bytes just read may be only in the page cache. After a failed sync
    // they are there too, but count as written. So the last commit, the only one of which this can be true, is written again.
    await this.#file.write(scanned.lastStart, [bytes.subarray(scanned.lastStart, scanned.end)]);
    await this.#file.sync();
    await this.#fs.syncFolder(this.#options.folder);
    this.#end = scanned.end;
    return {
      checkpoint: scanned.checkpoint.body,
      commits: scanned.commits.map(({ body }) => body),
      truncatedBytes,
    };
  }

  get isFull(): boolean {
    return this.#end >= this.#options.fileBytesMax;
  }

  /** The highest payload id in the journal. New ids must be greater. */
  get payloadIdMax(): number {
    let max = 0;
    for (const id of this.#locations.keys()) max = Math.max(max, id);
    return max;
  }

  /**
   * Makes one commit durable. `body` is JSON text. Calls must not overlap; the owner groups the changes that arrive
   * meanwhile into the next commit.
   */
  async append(body: string, payloads: readonly Payload[]): Promise<void> {
    const file = this.#beginWrite();
    const fileNumber = elementAt(this.#fileNumbers, -1);
    const rows = payloads.map(({ id, bytes }) => commitRow(id, bytes, crc32(bytes)));
    const meta = encodeMeta(rows, body);
    const parts = encodeRecord(
      { kind: 'commit', fileNumber, sequence: this.#sequence + 1 },
      meta,
      payloads.map(({ bytes }) => bytes),
    );
    const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
    assert(length <= recordBytesMax, 'the caller limits the size of a commit');
    await this.#guardWrite(async () => {
      await file.write(this.#end, parts);
      await file.sync();
    });
    let offset = this.#end + recordHeaderBytes + meta.byteLength;
    for (const [id, payloadLength, crc] of rows) {
      this.#locations.set(id, { fileNumber, offset, length: payloadLength, crc });
      offset += payloadLength;
    }
    this.#end += length;
    this.#sequence++;
  }

  /**
   * Starts a new file with a checkpoint of the whole state, then removes the files and payloads that are no longer
   * needed. `live` are the payloads that the state refers to, `leased` those that readers still use.
   */
  async rotate(
    body: string,
    live: ReadonlySet<number>,
    leased: ReadonlySet<number>,
  ): Promise<void> {
    assert(this.#state === 'open', 'only an open, idle journal rotates');
    this.#state = 'writing';
    const fileNumber = (this.#fileNumbers.at(-1) ?? 0) + 1;
    const rows = [...live].map((id) => checkpointRow(id, this.#locationOf(id)));
    const meta = encodeMeta(rows, body);
    const identity = { kind: 'checkpoint', fileNumber, sequence: this.#sequence + 1 } as const;
    const parts = encodeRecord(identity, meta, []);
    const full = this.#file;
    // The current file stays open until the new one is, because a failed write is truncated from it.
    await this.#guardWrite(async () => {
      await writeFileAtomically(this.#fs, this.#options.folder, journalFileName(fileNumber), parts);
      this.#file = await this.#fs.openFile(this.#path(fileNumber), 'write');
    });
    this.#fileNumbers.push(fileNumber);
    this.#sequence++;
    this.#end = recordHeaderBytes + meta.byteLength;
    await full?.close();
    await this.collect(live, leased);
  }

  /** Removes payloads that are neither live nor leased, and the files that contain no others. */
  async collect(live: ReadonlySet<number>, leased: ReadonlySet<number>): Promise<void> {
    const needed = new Set([this.#fileNumbers.at(-1)]);
    for (const [id, location] of this.#locations) {
      if (live.has(id) || leased.has(id)) needed.add(location.fileNumber);
      else this.#locations.delete(id);
    }
    for (const number of this.#fileNumbers.filter((candidate) => !needed.has(candidate))) {
      await this.#closeReader(number);
      await removeIfExists(this.#fs, this.#path(number));
      this.#fileNumbers = this.#fileNumbers.filter((kept) => kept !== number);
    }
  }

  /** Returns the length of a payload that the state refers to. */
  payloadLength(id: number): number {
    return this.#locationOf(id).length;
  }

  /** Returns the bytes of a payload after verifying their checksum. Reading still works after a failed write. */
  async read(id: number): Promise<Uint8Array> {
    const location = this.#locations.get(id);
    if (location === undefined) throw new CodedError('payload-gone');
    const { fileNumber } = location;
    let reader = this.#readers.get(fileNumber);
    if (reader === undefined) {
      reader = this.#fs.openFile(this.#path(fileNumber), 'read');
      this.#readers.set(fileNumber, reader);
      reader.catch(() => this.#readers.delete(fileNumber));
    }
    return readPayload(await reader, location);
  }

  /**
   * Truncates the file to the last durable commit after a failed write, so that no later reader takes the incomplete
   * record for a durable one. Reading still works. The call may be repeated if the disk fails again.
   */
  async truncateToLastCommit(): Promise<void> {
    assert(
      this.#state === 'failed' || this.#state === 'open',
      'a journal is not truncated during a write',
    );
    // Without a failed write the file is complete.
    if (this.#state === 'open') return;
    await this.#file?.truncate(this.#end);
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    for (const number of [...this.#readers.keys()]) await this.#closeReader(number);
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  #beginWrite(): FsFile {
    assert(this.#state === 'open', 'one write at a time, on a journal that is open');
    assert(this.#file !== undefined, 'the first checkpoint comes before the first commit');
    this.#state = 'writing';
    return this.#file;
  }

  async #guardWrite(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#state = 'failed';
      throw error;
    }
    this.#state = 'open';
  }

  async #closeReader(fileNumber: number): Promise<void> {
    const reader = this.#readers.get(fileNumber);
    this.#readers.delete(fileNumber);
    const file = await reader?.catch(() => undefined);
    await file?.close();
  }

  #locationOf(id: number): PayloadLocation {
    const location = this.#locations.get(id);
    assert(location !== undefined, 'every payload of the state was appended before');
    return location;
  }

  #path(fileNumber: number): string {
    return `${this.#options.folder}/${journalFileName(fileNumber)}`;
  }
}

export function journalFileName(number: number): string {
  return `${String(number).padStart(10, '0')}.journal`;
}

function encodeMeta(rows: readonly (readonly number[])[], body: string): Uint8Array {
  return new TextEncoder().encode(`{"payloads":${JSON.stringify(rows)},"body":${body}}`);
}
