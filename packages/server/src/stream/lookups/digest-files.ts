import { crc32 } from 'node:zlib';
import { isCodedError } from '@sluice/base/errors';
import { listIfExists } from '../../dataset/dataset-files.ts';
import { type Fs, readWholeFile, removeIfExists, writeFileAtomically } from '../../storage/fs.ts';

/** The digests of this many slots are computed and stored together. */
export const windowSlots = 256;

/** The sum of the digests of this many windows is stored too, so that a year is read in a few hundred files. */
export const groupWindows = 256;

/** Stored digests of final blocks, by the number of their window or group: the first slot divided by its number of slots. */
export interface DigestFiles {
  /** Returns the entries of a window, or undefined if they are not stored. */
  read(window: number): Promise<Uint8Array | undefined>;
  write(window: number, entries: Uint8Array): Promise<void>;
  /** Returns the encoded sum of a group, or undefined if it is not stored. */
  readGroup(group: number): Promise<Uint8Array | undefined>;
  writeGroup(group: number, sum: Uint8Array): Promise<void>;
  /** Removes the files of windows and groups whose slots are all below the given one. */
  removeBelow(slot: number): Promise<void>;
}

/** The format and the lines that are hashed. Files of another version are computed again. */
const version = 1;
const headerBytes = 8;

/** Files in the folder `digests` of a dataset. They depend on the blocks only, not on segments, and can be removed at any time. */
export class StoredDigests implements DigestFiles {
  readonly #folder: string;
  readonly #fs: Fs;
  /** Files that are being written. */
  readonly #writing = new Set<string>();
  /** Everything that ends below this slot has been removed. */
  #removedBelow: number | undefined;

  constructor(datasetFolder: string, fs: Fs) {
    this.#folder = `${datasetFolder}/digests`;
    this.#fs = fs;
  }

  read(window: number): Promise<Uint8Array | undefined> {
    return this.#read(windowName(window));
  }

  write(window: number, entries: Uint8Array): Promise<void> {
    return this.#write(windowName(window), entries);
  }

  readGroup(group: number): Promise<Uint8Array | undefined> {
    return this.#read(groupName(group));
  }

  writeGroup(group: number, sum: Uint8Array): Promise<void> {
    return this.#write(groupName(group), sum);
  }

  /** Only the first call lists the folder, which has a million files after a few years. */
  async removeBelow(slot: number): Promise<void> {
    const end = Math.floor(slot / windowSlots);
    const groupEnd = Math.floor(end / groupWindows);
    const before = this.#removedBelow;
    this.#removedBelow = slot;
    if (before === undefined) {
      for (const name of await listIfExists(this.#folder, this.#fs)) {
        const isBelow = name < (name.endsWith(groupSuffix) ? groupName(groupEnd) : windowName(end));
        if (isBelow) await removeIfExists(this.#fs, `${this.#folder}/${name}`);
      }
      return;
    }
    const start = Math.floor(before / windowSlots);
    for (let window = start; window < end; window++) await this.#remove(windowName(window));
    for (let group = Math.floor(start / groupWindows); group < groupEnd; group++)
      await this.#remove(groupName(group));
  }

  async #read(name: string): Promise<Uint8Array | undefined> {
    let bytes: Uint8Array;
    try {
      bytes = await readWholeFile(this.#fs, `${this.#folder}/${name}`);
    } catch (error) {
      if (isCodedError(error)) return undefined;
      throw error;
    }
    if (bytes.length < headerBytes) return undefined;
    const header = new DataView(bytes.buffer, bytes.byteOffset, headerBytes);
    const content = bytes.subarray(headerBytes);
    const isValid = header.getUint32(0) === version && header.getUint32(4) === crc32(content);
    return isValid ? content : undefined;
  }

  /** A failure is ignored: the digests are then computed again when they are needed. */
  async #write(name: string, content: Uint8Array): Promise<void> {
    if (this.#writing.has(name)) return;
    this.#writing.add(name);
    const header = new DataView(new ArrayBuffer(headerBytes));
    header.setUint32(0, version);
    header.setUint32(4, crc32(content));
    try {
      await this.#fs.makeFolder(this.#folder);
      const parts = [new Uint8Array(header.buffer), content];
      await writeFileAtomically(this.#fs, this.#folder, name, parts);
    } catch (error) {
      if (!isCodedError(error)) throw error;
    } finally {
      this.#writing.delete(name);
    }
  }

  async #remove(name: string): Promise<void> {
    await removeIfExists(this.#fs, `${this.#folder}/${name}`);
  }
}

const groupSuffix = '.sum';

function windowName(window: number): string {
  return `${String(window * windowSlots).padStart(16, '0')}.digest`;
}

function groupName(group: number): string {
  return `${String(group * groupWindows * windowSlots).padStart(16, '0')}${groupSuffix}`;
}
