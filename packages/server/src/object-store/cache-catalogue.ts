/**
 * The file that lists what the cache files have, so that a start reads one file and not one for each object.
 *
 *   checksum byteLength ⏎ lines     a batch: the CRC-32 of its lines as eight hexadecimal digits, their length in bytes, and the lines
 *   …                               further batches
 *
 *   = number                        cache files below this number may exist, so the next process starts with it
 *   + number byteLength runs name   the cache file `number` has these runs of granules of the object
 *   - number name                   the cache file is about to be removed
 *
 * Batches are only appended. A batch that a crash left incomplete has another checksum, and is ignored with all bytes after it. When most
 * lines are obsolete, the file is replaced by a shorter one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { isCodedError } from '@sluice/base/errors';
import {
  type Fs,
  type FsFile,
  readWholeFile,
  removeIfExists,
  temporarySuffix,
} from '../storage/fs.ts';
import { countGranules, subfolderPattern } from './presence.ts';

export const catalogueName = 'catalogue';
/** One batch of a replacement. Encoding it takes a few milliseconds of the main thread. */
const batchLineCount = 4_096;
/** The numbers of cache files that a process may use. They are never used again: the content of an older file could otherwise be taken for that of a newer one. */
const numbersPerProcess = 2 ** 32;
/** A catalogue with fewer obsolete lines is not replaced. */
const obsoleteCountMin = 1_000;

/** An object of which something is cached. There may be millions, so it has few fields. */
export class CacheEntry {
  readonly name: string;
  readonly number: number;
  /** The length of all complete batches. */
  readonly byteLength: number;
  /** The durable runs of granules, see `Presence.runs`. */
  runs: string;
  /** The number of all granules that are present. */
  granuleCount: number;
  lastUsedMs = longAgoMs;

  constructor(name: string, number: number, byteLength: number, runs: string) {
    this.name = name;
    this.number = number;
    this.byteLength = byteLength;
    this.runs = runs;
    this.granuleCount = countGranules(runs);
  }
}

/** The last use by an earlier process. */
const longAgoMs = Number.NEGATIVE_INFINITY;

export interface ParsedCatalogue {
  /** In the order of the last change. */
  readonly files: Map<string, CacheEntry>;
  readonly byteLength: number;
  readonly lineCount: number;
  /** The first number that no cache file has had. */
  readonly numberEnd: number;
}

export interface OpenedCatalogue {
  readonly catalogue: CacheCatalogue;
  /** What it lists, in the order of the last change. */
  readonly files: Map<string, CacheEntry>;
}

export interface CatalogueChanges {
  readonly added: readonly CacheEntry[];
  readonly removed: readonly Pick<CacheEntry, 'name' | 'number'>[];
  readonly all: Iterable<CacheEntry>;
  readonly count: number;
}

export class CacheCatalogue {
  readonly #fs: Fs;
  readonly #folder: string;
  readonly #path: string;
  /** Undefined if no usable file exists. The next change writes one. */
  #file: FsFile | undefined;
  #byteLength = 0;
  #lineCount = 0;
  /** The numbers from `#nextNumber` to here are reserved for this process. 0 stands for no file. */
  #numberEnd = 1;
  #nextNumber = 1;

  private constructor(fs: Fs, folder: string) {
    this.#fs = fs;
    this.#folder = folder;
    this.#path = `${folder}/${catalogueName}`;
  }

  /** Opens the catalogue of a folder, or creates it. */
  static async open(fs: Fs, folder: string): Promise<OpenedCatalogue> {
    const catalogue = new CacheCatalogue(fs, folder);
    const parsed = parseCatalogue(await catalogue.#readFile());
    const isMissing = parsed.byteLength === 0;
    if (isMissing) await catalogue.#discardFiles();
    catalogue.#nextNumber = parsed.numberEnd;
    catalogue.#numberEnd = parsed.numberEnd + numbersPerProcess;
    if (isMissing) await catalogue.#replace([]);
    else await catalogue.#continue(parsed);
    return { catalogue, files: parsed.files };
  }

  /** The file numbers of this process start with this one. */
  get nextNumber(): number {
    return this.#nextNumber;
  }

  /** Returns the number of a new cache file. No file ever had it. */
  allocateNumber(): number {
    assert(this.#nextNumber < this.#numberEnd, 'a process does not exhaust its file numbers');
    return this.#nextNumber++;
  }

  /**
   * Makes changes durable. `all` lists the files after the changes, for a replacement of a catalogue with many obsolete lines. If the
   * catalogue cannot be written, it is removed, and the next process discards all cache files.
   */
  async save({ added, removed, all, count }: CatalogueChanges): Promise<void> {
    try {
      const isObsolete = this.#lineCount > 2 * count + obsoleteCountMin;
      if (this.#file === undefined || isObsolete) await this.#replace(all);
      const lines = [...removed.map(removalLine), ...added.map(additionLine)];
      if (this.#file !== undefined && lines.length > 0) await this.#append(this.#file, lines);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      await this.#remove();
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #readFile(): Promise<Buffer> {
    try {
      const { buffer, byteOffset, length } = await readWholeFile(this.#fs, this.#path);
      return Buffer.from(buffer, byteOffset, length);
    } catch (error) {
      if (isCodedError(error, 'storage-missing')) return Buffer.alloc(0);
      throw error;
    }
  }

  /** Without a catalogue the content of all other files is unknown. Files of the first version, which had no catalogue, are among them. */
  async #discardFiles(): Promise<void> {
    for (const name of await this.#fs.list(this.#folder)) {
      const path = `${this.#folder}/${name}`;
      if (subfolderPattern.test(name)) await this.#fs.removeFolder(path);
      else if (/\.(?:data|map|tmp)$/.test(name)) await this.#fs.remove(path);
    }
  }

  /** Replaces the file atomically. The files are listed in steps and may change meanwhile; such changes are saved afterwards. */
  async #replace(files: Iterable<CacheEntry>): Promise<void> {
    const temporary = `${this.#path}${temporarySuffix}`;
    await this.close();
    await removeIfExists(this.#fs, temporary);
    const file = await this.#fs.openFile(temporary, 'create');
    this.#file = file;
    [this.#byteLength, this.#lineCount] = [0, 0];
    let lines = [`= ${this.#numberEnd}`];
    for (const listed of files) {
      lines.push(additionLine(listed));
      if (lines.length < batchLineCount) continue;
      await this.#write(file, lines);
      lines = [];
      await nextTurn();
    }
    await this.#append(file, lines);
    await this.#fs.rename(temporary, this.#path);
    await this.#fs.syncFolder(this.#folder);
  }

  /**
   * Removes what a crash left incomplete, and reserves the numbers of this process. A catalogue that cannot be written is removed: after a
   * failed synchronization the next process could read a reservation that is not durable, and numbers would be used twice after a power loss.
   */
  async #continue({ byteLength, lineCount }: ParsedCatalogue): Promise<void> {
    [this.#byteLength, this.#lineCount] = [byteLength, lineCount];
    const file = await this.#fs.openFile(this.#path, 'write');
    this.#file = file;
    try {
      await file.truncate(byteLength);
      await this.#append(file, [`= ${this.#numberEnd}`]);
    } catch (error) {
      if (isCodedError(error)) await this.#remove();
      throw error;
    }
  }

  async #append(file: FsFile, lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#write(file, lines);
    await file.sync();
  }

  async #write(file: FsFile, lines: readonly string[]): Promise<void> {
    const body = Buffer.from(`${lines.join('\n')}\n`);
    const head = Buffer.from(`${crc32(body).toString(16).padStart(8, '0')} ${body.length}\n`);
    await file.write(this.#byteLength, [Buffer.concat([head, body])]);
    this.#byteLength += head.length + body.length;
    this.#lineCount += lines.length;
  }

  async #remove(): Promise<void> {
    await this.close();
    await removeIfExists(this.#fs, this.#path);
    await this.#fs.syncFolder(this.#folder);
  }
}

/** Returns what the complete batches of a catalogue say. */
export function parseCatalogue(bytes: Buffer): ParsedCatalogue {
  const files = new Map<string, CacheEntry>();
  const parsed = { files, byteLength: 0, lineCount: 0, numberEnd: 1 };
  for (;;) {
    const start = bytes.indexOf(10, parsed.byteLength) + 1;
    const head = bytes.toString('latin1', parsed.byteLength, start);
    const end = start + Number.parseInt(head.slice(9), 10);
    if (start === 0 || !(end <= bytes.length)) return parsed;
    const body = bytes.subarray(start, end);
    if (Number.parseInt(head.slice(0, 8), 16) !== crc32(body)) return parsed;
    for (const line of body.toString('utf8', 0, body.length - 1).split('\n')) {
      parsed.numberEnd = Math.max(parsed.numberEnd, applyLine(line, files));
      parsed.lineCount++;
    }
    parsed.byteLength = end;
  }
}

/** Returns the first number that the line allows for new files. Splitting each line into words would take three times as long. */
function applyLine(line: string, files: Map<string, CacheEntry>): number {
  const numberEnd = line.indexOf(' ', 2);
  const number = Number(line.slice(2, numberEnd < 0 ? undefined : numberEnd));
  if (line.startsWith('=')) return number;
  if (line.startsWith('-')) {
    const name = line.slice(numberEnd + 1);
    if (files.get(name)?.number === number) files.delete(name);
    return 0;
  }
  const lengthEnd = line.indexOf(' ', numberEnd + 1);
  const runsEnd = line.indexOf(' ', lengthEnd + 1);
  const byteLength = Number(line.slice(numberEnd + 1, lengthEnd));
  const name = line.slice(runsEnd + 1);
  // The map is in the order of the last change.
  files.delete(name);
  files.set(name, new CacheEntry(name, number, byteLength, line.slice(lengthEnd + 1, runsEnd)));
  return 0;
}

function additionLine({ name, number, byteLength, runs }: CacheEntry): string {
  return `+ ${number} ${byteLength} ${runs} ${name}`;
}

function removalLine({ name, number }: Pick<CacheEntry, 'name' | 'number'>): string {
  return `- ${number} ${name}`;
}
