import { crc32 } from 'node:zlib';
import { isCodedError } from '@sluice/base/errors';
import { listIfExists } from '../../dataset/dataset-files.ts';
import { type Fs, readWholeFile, removeIfExists, writeFileAtomically } from '../../storage/fs.ts';

/** The digests of this many slots are computed and stored together. */
export const windowSlots = 256;

/** Stored digests of final blocks, by the number of their window: the first slot divided by `windowSlots`. */
export interface DigestFiles {
  /** Returns the entries of a window, or undefined if they are not stored. */
  read(window: number): Promise<Uint8Array | undefined>;
  write(window: number, entries: Uint8Array): Promise<void>;
  /** Removes the windows that end below a slot. */
  removeBelow(slot: number): Promise<void>;
}

/** The format and the lines that are hashed. Files of another version are computed again. */
const version = 1;
const headerBytes = 8;

/** Files in the folder `digests` of a dataset. They depend on the blocks only, not on segments, and can be removed at any time. */
export class StoredDigests implements DigestFiles {
  readonly #folder: string;
  readonly #fs: Fs;
  /** Windows that are being written. */
  readonly #writing = new Set<number>();

  constructor(datasetFolder: string, fs: Fs) {
    this.#folder = `${datasetFolder}/digests`;
    this.#fs = fs;
  }

  async read(window: number): Promise<Uint8Array | undefined> {
    let bytes: Uint8Array;
    try {
      bytes = await readWholeFile(this.#fs, `${this.#folder}/${nameOf(window)}`);
    } catch (error) {
      if (isCodedError(error)) return undefined;
      throw error;
    }
    if (bytes.length < headerBytes) return undefined;
    const header = new DataView(bytes.buffer, bytes.byteOffset, headerBytes);
    const entries = bytes.subarray(headerBytes);
    const isValid = header.getUint32(0) === version && header.getUint32(4) === crc32(entries);
    return isValid ? entries : undefined;
  }

  /** A failure is ignored: the digests are then computed again when they are needed. */
  async write(window: number, entries: Uint8Array): Promise<void> {
    if (this.#writing.has(window)) return;
    this.#writing.add(window);
    const header = new DataView(new ArrayBuffer(headerBytes));
    header.setUint32(0, version);
    header.setUint32(4, crc32(entries));
    try {
      await this.#fs.makeFolder(this.#folder);
      const parts = [new Uint8Array(header.buffer), entries];
      await writeFileAtomically(this.#fs, this.#folder, nameOf(window), parts);
    } catch (error) {
      if (!isCodedError(error)) throw error;
    } finally {
      this.#writing.delete(window);
    }
  }

  async removeBelow(slot: number): Promise<void> {
    const first = nameOf(Math.floor(slot / windowSlots));
    for (const name of await listIfExists(this.#folder, this.#fs))
      if (name < first) await removeIfExists(this.#fs, `${this.#folder}/${name}`);
  }
}

function nameOf(window: number): string {
  return `${String(window * windowSlots).padStart(16, '0')}.digest`;
}
