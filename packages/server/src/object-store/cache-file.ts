import { dirname } from 'node:path';
import { isCodedError } from '@sluice/base/errors';
import { type Fs, type FsFile, removeIfExists } from '../storage/fs.ts';
import { cacheFilePath } from './presence.ts';

export interface CacheFileOptions {
  readonly folder: string;
  readonly number: number;
  readonly byteLength: number;
  /** Whether the first use creates the file. */
  readonly isNew: boolean;
}

export interface CacheFileDependencies {
  readonly fs: Fs;
  /** Called when the file was opened. It stays open until `closeIdle`. */
  readonly onOpened: (file: CacheFile) => void;
  readonly onClosed: (file: CacheFile) => void;
}

/** A sparse file as long as its object. It is created at its first use, and opened again whenever it is used after `closeIdle`. */
export class CacheFile {
  readonly number: number;
  readonly #path: string;
  readonly #byteLength: number;
  readonly #dependencies: CacheFileDependencies;
  #isNew: boolean;
  #opened: Promise<FsFile> | undefined;
  #useCount = 0;
  /** Whether the file is not needed again after its uses in progress. */
  #closesWhenIdle = false;

  constructor(options: CacheFileOptions, dependencies: CacheFileDependencies) {
    this.number = options.number;
    this.#path = cacheFilePath(options.folder, options.number);
    this.#byteLength = options.byteLength;
    this.#dependencies = dependencies;
    this.#isNew = options.isNew;
  }

  async use<Result>(work: (opened: FsFile) => Promise<Result>): Promise<Result> {
    this.#useCount++;
    try {
      this.#opened ??= this.#open();
      return await work(await this.#opened);
    } finally {
      this.#useCount--;
      if (this.#closesWhenIdle) await this.closeIdle();
    }
  }

  /** Closes the file until it is needed again. Does nothing while it is in use. */
  async closeIdle(): Promise<void> {
    if (this.#useCount > 0 || this.#opened === undefined) return;
    const opened = this.#opened;
    this.#opened = undefined;
    this.#dependencies.onClosed(this);
    await (await opened).close();
  }

  /** Closes the file, at the latest after its uses in progress. */
  async close(): Promise<void> {
    this.#closesWhenIdle = true;
    await this.closeIdle();
  }

  /** Removes the file. If threads have opened it, it is emptied before, because they would keep its space. */
  async remove(isRead: boolean): Promise<void> {
    this.#closesWhenIdle = true;
    try {
      if (isRead && !this.#isNew) await this.use((opened) => opened.truncate(0));
      await this.closeIdle();
      await this.#dependencies.fs.remove(this.#path);
    } catch (error) {
      if (!isCodedError(error, 'storage-missing')) throw error;
    }
  }

  async #open(): Promise<FsFile> {
    try {
      const opened = await this.#openOrCreate();
      this.#dependencies.onOpened(this);
      return opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async #openOrCreate(): Promise<FsFile> {
    const { fs } = this.#dependencies;
    if (!this.#isNew) return fs.openFile(this.#path, 'write');
    await fs.makeFolder(dirname(this.#path));
    // An attempt that failed may have left it.
    await removeIfExists(fs, this.#path);
    const opened = await fs.openFile(this.#path, 'create');
    this.#isNew = false;
    await opened.truncate(this.#byteLength);
    return opened;
  }
}
