import { stat } from 'node:fs/promises';
import { CodedError, isCodedError } from '@sluice/base/errors';
import {
  type Fs,
  readWholeFile,
  removeIfExists,
  temporarySuffix,
  writeFileAtomically,
} from '../storage/fs.ts';
import type { ByteRange, ObjectInfo, ObjectStore } from './object-store.ts';

/** Objects as files of a folder, for backups to a disk. One process writes it at a time. */
export class FolderStore implements ObjectStore {
  readonly #folder: string;
  readonly #fs: Fs;

  constructor(folder: string, fs: Fs) {
    this.#folder = folder;
    this.#fs = fs;
  }

  async get(key: string, range?: ByteRange): Promise<Uint8Array> {
    try {
      if (range === undefined) return await readWholeFile(this.#fs, this.#path(key));
      const file = await this.#fs.openFile(this.#path(key), 'read');
      try {
        return await file.read(range.start, range.end - range.start);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (isCodedError(error, 'storage-missing')) throw missing(key, error);
      throw error;
    }
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    const found = await stat(this.#path(key)).catch(() => undefined);
    if (found === undefined) return undefined;
    return { key, byteLength: found.size, modifiedUnixMs: found.mtimeMs };
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(key);
    const slash = path.lastIndexOf('/');
    const [folder, name] = [path.slice(0, slash), path.slice(slash + 1)];
    await this.#fs.makeFolder(folder);
    await writeFileAtomically(this.#fs, folder, name, [bytes]);
  }

  async create(key: string, bytes: Uint8Array): Promise<boolean> {
    if ((await this.head(key)) !== undefined) return false;
    await this.put(key, bytes);
    return true;
  }

  /** The prefix ends with a slash, or the objects are files of one folder. */
  async list(prefix: string): Promise<ObjectInfo[]> {
    const slash = prefix.lastIndexOf('/') + 1;
    const folder = prefix.slice(0, slash);
    const names = await this.#fs.list(`${this.#folder}/${folder}`).catch((error: unknown) => {
      if (isCodedError(error, 'storage-missing')) return [];
      throw error;
    });
    const objects: ObjectInfo[] = [];
    for (const name of names) {
      // A write that was interrupted leaves a temporary file.
      if (!name.startsWith(prefix.slice(slash)) || name.endsWith(temporarySuffix)) continue;
      const object = await this.head(`${folder}${name}`);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  remove(key: string): Promise<void> {
    return removeIfExists(this.#fs, this.#path(key));
  }

  async close(): Promise<void> {}

  #path(key: string): string {
    return `${this.#folder}/${key}`;
  }
}

function missing(key: string, cause: CodedError): CodedError {
  return new CodedError('store-object-missing', { operation: `get ${key}` }, { cause });
}
