import { isCodedError } from '@sluice/base/errors';
import { LRUCache } from 'lru-cache';
import type { IndexRun } from '../../chain/chain-snapshot.ts';
import {
  findAnyParts,
  findParts,
  type ReadAt,
  readParts,
} from '../../segment/history/read-index.ts';
import type { OpenIndexFile } from './index-thread.ts';

/** The indexes that stay open. A dataset has fewer than this. */
const openCountMax = 64;

interface OpenIndex {
  readonly file: Promise<OpenIndexFile>;
  /** The first and the last slot of each part, one after another. Read when first needed, 16 bytes for each part. */
  parts: Promise<Float64Array> | undefined;
}

/** Slots that can have a key: the first and the last slot of each range, ascending; undefined for all slots of the index. */
export type SlotRanges = readonly (readonly [first: number, last: number])[] | undefined;

/** What is looked up: one key, given by its hash, or a set of keys, given by their hashes in ascending order. Equal versions mean equal sets. */
export type IndexKey = number | { readonly version: string; readonly hashes: Float64Array };

/** The results of sets that are kept: for a few sets, those of all indexes. A result has at most some kilobytes for a thousand segments. */
const setResultCountMax = 256;

type FindIn = (read: ReadAt) => Promise<readonly number[] | undefined>;

/** Looks keys up in the indexes over segments of one dataset. */
export class IndexReader {
  readonly #openFile: (run: IndexRun) => Promise<OpenIndexFile>;
  readonly #open = new LRUCache<string, OpenIndex>({
    max: openCountMax,
    dispose: ({ file }) => void file.then((opened) => opened.close()).catch(() => undefined),
  });

  readonly #setRanges = new LRUCache<string, Promise<SlotRanges>>({ max: setResultCountMax });

  constructor(openFile: (run: IndexRun) => Promise<OpenIndexFile>) {
    this.#openFile = openFile;
  }

  /** Indexes never change, so the result for a version of a set is kept. */
  find(run: IndexRun, key: IndexKey): Promise<SlotRanges> {
    if (typeof key === 'number') return this.#retry(run, (read) => findParts(key, run, read));
    const name = `${run.id} ${key.version}`;
    let ranges = this.#setRanges.get(name);
    if (ranges === undefined) {
      ranges = this.#retry(run, (read) => findAnyParts(key.hashes, run, read));
      ranges.catch(() => this.#setRanges.delete(name));
      this.#setRanges.set(name, ranges);
    }
    return ranges;
  }

  /** Wrong bytes of a local copy are fetched again once. */
  async #retry(run: IndexRun, findIn: FindIn): Promise<SlotRanges> {
    try {
      return await this.#find(run, findIn);
    } catch (error) {
      const file = await this.#open.get(run.id)?.file.catch(() => undefined);
      if (!isCodedError(error, 'segment-damaged') || file?.discard === undefined) throw error;
      file.discard();
      this.#open.delete(run.id);
      return this.#find(run, findIn);
    }
  }

  async #find(run: IndexRun, findIn: FindIn): Promise<SlotRanges> {
    const index = this.#openIndex(run);
    const file = await index.file;
    const read = (position: number, length: number) => file.read(position, length);
    const numbers = await findIn(read);
    if (numbers === undefined) return undefined;
    if (numbers.length === 0) return [];
    const copied = [...numbers];
    index.parts ??= readParts(run, read);
    index.parts.catch(() => this.#open.delete(run.id));
    const parts = await index.parts;
    return copied.map((number) => [parts[number * 2] ?? 0, parts[number * 2 + 1] ?? 0]);
  }

  /** Closes files that no state needs any more, given relative to the dataset's folder, so that the disk gets their space back. */
  forget(files: readonly string[]): void {
    for (const file of files) this.#open.delete(file.slice(file.indexOf('/') + 1));
  }

  /** Closes all files. They are opened again when they are needed. */
  close(): void {
    this.#open.clear();
  }

  #openIndex(run: IndexRun): OpenIndex {
    const known = this.#open.get(run.id);
    if (known !== undefined) return known;
    const file = this.#openFile(run);
    file.catch(() => this.#open.delete(run.id));
    const index: OpenIndex = { file, parts: undefined };
    this.#open.set(run.id, index);
    return index;
  }
}
