/**
 * The durable log of one dataset's hot chain: a folder of numbered files.
 *
 *   journal/0000000007.journal   checkpoint · commit · commit · …
 *   journal/0000000008.journal   checkpoint · commit · …            ◄ appended to
 *
 * A commit is durable when `append` resolves. A file begins with the whole state, so only the newest is read at a start;
 * the older ones are kept while a payload in them is still needed. What commits and checkpoints say is the caller's: JSON
 * text. Payloads are opaque bytes with an id.
 *
 * A write or sync that failed ends the journal: what the disk then holds is known only after reading it again, and a
 * second sync may say "ok" without having done anything. The owner closes it and opens another, which begins a new file.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../base/assert.ts';
import { CodedError } from '../base/errors.ts';
import {
  type Fs,
  type FsFile,
  readWholeFile,
  removeIfThere,
  temporarySuffix,
  writeFileAtomically,
} from './fs.ts';
import { encodeRecord, recordHeaderBytes } from './journal-record.ts';
import { readPayload } from './read-payload.ts';
import { checkpointRow, commitRow, type PayloadPlace, scanJournal } from './scan-journal.ts';

export interface JournalOptions {
  readonly folder: string;
  /** A file that grew past this is full: the owner then writes a checkpoint. */
  readonly fileBytesMax: number;
}

export interface Payload {
  readonly id: number;
  readonly bytes: Uint8Array;
}

export interface JournalContent {
  /** The body of the last checkpoint; null if the journal is new. */
  readonly checkpoint: unknown;
  /** The bodies of the commits after it, in order. */
  readonly commits: readonly unknown[];
  /** Bytes that a crash left behind and that were cut. */
  readonly tornBytes: number;
}

export const journalNamePattern = /^(\d{10})\.journal$/;
/** One record is read and written whole. */
export const recordBytesMax = 1024 * 1024 * 1024;

export class Journal {
  readonly #options: JournalOptions;
  readonly #fs: Fs;
  readonly #places = new Map<number, PayloadPlace>();
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

  /** Opens or makes a journal. Where it is new, the caller's next act is `rotate`, which writes the first checkpoint. */
  static async open(
    options: JournalOptions,
    modules: { readonly fs: Fs },
  ): Promise<{ journal: Journal; content: JournalContent }> {
    const journal = new Journal(options, modules.fs);
    await modules.fs.makeFolder(options.folder);
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
    if (newest === undefined) return { checkpoint: null, commits: [], tornBytes: 0 };
    const bytes = await readWholeFile(this.#fs, this.#path(newest));
    const scanned = scanJournal(bytes, newest);
    for (const record of [scanned.checkpoint, ...scanned.commits]) {
      for (const [id, place] of record.payloads) this.#places.set(id, place);
      this.#sequence = record.sequence;
    }
    const tornBytes = bytes.byteLength - scanned.end;
    this.#file = await this.#fs.openFile(this.#path(newest), 'write');
    if (tornBytes > 0) await this.#file.truncate(scanned.end);
    // What was read may be in the system's cache only, if the last owner was killed between its write and its sync.
    await this.#file.sync();
    await this.#fs.syncFolder(this.#options.folder);
    this.#end = scanned.end;
    return {
      checkpoint: scanned.checkpoint.body,
      commits: scanned.commits.map(({ body }) => body),
      tornBytes,
    };
  }

  get isFull(): boolean {
    return this.#end >= this.#options.fileBytesMax;
  }

  /** The highest payload id ever seen here: new ones go above it. */
  get payloadIdMax(): number {
    let max = 0;
    for (const id of this.#places.keys()) max = Math.max(max, id);
    return max;
  }

  /** Makes one commit durable. `body` is JSON text. Calls do not overlap: the owner groups what waits meanwhile. */
  async append(body: string, payloads: readonly Payload[]): Promise<void> {
    const file = this.#beginWrite();
    const fileNumber = this.#fileNumbers.at(-1) as number;
    const rows = payloads.map(({ id, bytes }) => commitRow(id, bytes, crc32(bytes)));
    const meta = encodeMeta(rows, body);
    const parts = encodeRecord(
      { kind: 'commit', fileNumber, sequence: this.#sequence + 1 },
      meta,
      payloads.map(({ bytes }) => bytes),
    );
    const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
    assert(length <= recordBytesMax, 'a commit is bounded by whoever groups it');
    await this.#guardWrite(async () => {
      await file.write(this.#end, parts);
      await file.sync();
    });
    let offset = this.#end + recordHeaderBytes + meta.byteLength;
    for (const [id, payloadLength, crc] of rows) {
      this.#places.set(id, { fileNumber, offset, length: payloadLength, crc });
      offset += payloadLength;
    }
    this.#end += length;
    this.#sequence++;
  }

  /**
   * Begins a new file with a checkpoint of the whole state, then drops files and payloads that are no longer needed.
   * `live` are the payloads that the state names, `leased` those that readers still hold.
   */
  async rotate(
    body: string,
    live: ReadonlySet<number>,
    leased: ReadonlySet<number>,
  ): Promise<void> {
    assert(this.#state === 'open', 'a journal that failed or is busy does not rotate');
    this.#state = 'writing';
    const fileNumber = (this.#fileNumbers.at(-1) ?? 0) + 1;
    const rows = [...live].map((id) => checkpointRow(id, this.#placeOf(id)));
    const meta = encodeMeta(rows, body);
    const place = { kind: 'checkpoint', fileNumber, sequence: this.#sequence + 1 } as const;
    const parts = encodeRecord(place, meta, []);
    const full = this.#file;
    // Until the new file is open the other is what a failure would be cut from.
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

  /** Forgets payloads that nobody needs and removes the files that hold nothing else. */
  async collect(live: ReadonlySet<number>, leased: ReadonlySet<number>): Promise<void> {
    const needed = new Set([this.#fileNumbers.at(-1)]);
    for (const [id, place] of this.#places) {
      if (live.has(id) || leased.has(id)) needed.add(place.fileNumber);
      else this.#places.delete(id);
    }
    for (const number of this.#fileNumbers.filter((candidate) => !needed.has(candidate))) {
      await this.#closeReader(number);
      await removeIfThere(this.#fs, this.#path(number));
      this.#fileNumbers = this.#fileNumbers.filter((kept) => kept !== number);
    }
  }

  /** The length of a payload that the state names. */
  payloadLength(id: number): number {
    return this.#placeOf(id).length;
  }

  /** The bytes of a payload, checked. Reading goes on after a failed write. */
  async read(id: number): Promise<Uint8Array> {
    const place = this.#places.get(id);
    if (place === undefined) throw new CodedError('payload-gone');
    const { fileNumber } = place;
    let reader = this.#readers.get(fileNumber);
    if (reader === undefined) {
      reader = this.#fs.openFile(this.#path(fileNumber), 'read');
      this.#readers.set(fileNumber, reader);
      reader.catch(() => this.#readers.delete(fileNumber));
    }
    return readPayload(await reader, place);
  }

  /**
   * After a failed write: cuts what nobody was told of, so that no later reader takes it for durable. Reading goes on.
   * May be called again if the disk refuses.
   */
  async cut(): Promise<void> {
    assert(this.#state === 'failed' || this.#state === 'open', 'what is being written is not cut');
    // One that was given up without a failed write is whole.
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

  #placeOf(id: number): PayloadPlace {
    const place = this.#places.get(id);
    assert(place !== undefined, 'what the state names was appended');
    return place;
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
