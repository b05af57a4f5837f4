import type { Selection } from '../query/query.ts';
import type { Segment } from '../segment/open-segment.ts';
import { SegmentIndex } from '../segment/segment-index.ts';
import type { Shelf } from './column-cache.ts';
import type { EngineKernel } from './engine-kernel.ts';
import { buildHeaderTexts, type HeaderTexts } from './header-texts.ts';

/** Field lists whose header texts are kept; queries use one or two. */
const headerListsMax = 4;
/** What a block takes in headers and their text, on the high side. */
const blockBytes = 1_400;

/** The header texts of one list of fields, also in the kernel's memory. */
export interface LoadedHeaders extends HeaderTexts {
  readonly textsAt: number;
  readonly startsAt: number;
  /** How many runs read them now. */
  users: number;
}

/** A segment as the engine keeps it: directory, index and headers in memory. */
export class EngineSegment {
  readonly segment: Segment;
  readonly key: string;
  readonly index: SegmentIndex;
  /** Pages of the dictionary by number, and the rooms of keys. */
  readonly dictionaryShelf: Shelf = new Map();
  /** The kernel's memory in which those rooms are. */
  readonly roomChunks: number[] = [];
  readonly #kernel: EngineKernel;
  readonly #groupShelves: Shelf[];
  readonly #headers = new Map<string, LoadedHeaders>();
  #blockTable = 0;
  /** How many runs read it now. */
  users = 0;
  /** Of its index, when it was last counted. */
  countedBytes = 0;

  constructor(segment: Segment, key: string, kernel: EngineKernel) {
    this.segment = segment;
    this.key = key;
    this.index = new SegmentIndex(segment);
    this.#kernel = kernel;
    this.#groupShelves = segment.directory.groups.map(() => new Map());
  }

  /** About what it takes beside the cache so far: its address index, and the headers of its blocks. */
  get indexBytes(): number {
    return this.index.byteLength + this.segment.blockCount * blockBytes;
  }

  groupShelf(number: number): Shelf {
    return this.#groupShelves[number] as Shelf;
  }

  get shelves(): readonly Shelf[] {
    return [this.dictionaryShelf, ...this.#groupShelves];
  }

  /** Where the kernel finds the rows of each block in its row group: first transaction, end, first reward, end. */
  get blockTable(): number {
    if (this.#blockTable === 0) this.#blockTable = this.#loadBlockTable();
    return this.#blockTable;
  }

  #loadBlockTable(): number {
    const { counts, directory } = this.segment;
    const table = new Uint32Array(counts.length * 4);
    for (const { firstBlock, blockCount } of directory.groups) {
      let transaction = 0;
      let reward = 0;
      for (let block = firstBlock; block < firstBlock + blockCount; block++) {
        const { transactions, rewards } = counts[block] as Segment['counts'][number];
        const row = [transaction, transaction + transactions, reward, reward + rewards];
        table.set(row, block * 4);
        transaction += transactions;
        reward += rewards;
      }
    }
    const at = this.#kernel.allocate(table.byteLength);
    this.#kernel.ints.set(table, at / 4);
    return at;
  }

  /** The header texts for a list of fields; who uses them leaves them. */
  useHeaders(fields: Selection['fields']['block']): LoadedHeaders {
    const key = fields.join();
    let headers = this.#headers.get(key);
    if (headers === undefined) {
      headers = this.#loadHeaders(fields);
      this.#makeRoomForHeaders();
      this.#headers.set(key, headers);
    }
    headers.users++;
    return headers;
  }

  #makeRoomForHeaders(): void {
    for (const [key, headers] of this.#headers) {
      if (this.#headers.size < headerListsMax) return;
      if (headers.users > 0) continue;
      this.#headers.delete(key);
      this.#kernel.release(headers.startsAt);
    }
  }

  #loadHeaders(fields: Selection['fields']['block']): LoadedHeaders {
    const texts = buildHeaderTexts(this.segment, fields);
    const startsAt = this.#kernel.allocate(texts.starts.byteLength + texts.bytes.length);
    const textsAt = startsAt + texts.starts.byteLength;
    this.#kernel.ints.set(texts.starts, startsAt / 4);
    this.#kernel.bytes.set(texts.bytes, textsAt);
    return { ...texts, textsAt, startsAt, users: 0 };
  }

  /** Lets go of what it has beside the cache. */
  release(): void {
    this.index.release();
    if (this.#blockTable !== 0) this.#kernel.release(this.#blockTable);
    for (const { startsAt } of this.#headers.values()) this.#kernel.release(startsAt);
  }
}
