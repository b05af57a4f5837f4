import { BLOCK_KEYS_SHIFT } from '@sluice/kernels/layout/selection';
import type { Selection } from '../query/query.ts';
import { chunkBytes } from '../segment/encoding/chunk-checksums.ts';
import { lowerBound } from '../segment/indexes/ascending-lists.ts';
import { SegmentIndex } from '../segment/indexes/segment-index.ts';
import type { Segment } from '../segment/read/open-segment.ts';
import type { EngineKernel } from './engine-kernel.ts';
import { HeaderTexts } from './header-texts.ts';
import { PlainReader } from './plain-reader.ts';

/** The number of keys in a block. A block is read as a whole if several of its keys are needed. */
export const blockKeys = 1 << BLOCK_KEYS_SHIFT;
/** How many field lists have cached header texts. Queries use one or two. */
const headerListsMax = 4;
/** The approximate memory of a row group and of a part in the directory. */
const groupBytes = 500;
const partBytes = 250;
/** The checksum of a chunk has four bytes. An open segment keeps two copies: one for JavaScript, one for the kernel. */
const chunkSumBytes = 8;

/** The dictionary of a section, followed by space for a decoded page. */
interface SectionWindow {
  readonly window: number;
  readonly length: number;
  readonly rawBytesMax: number;
}

/** A segment as the engine caches it: its directory and indexes, its dictionaries, and the texts of the keys that were written. */
export class EngineSegment {
  readonly segment: Segment;
  readonly key: string;
  readonly index: SegmentIndex;
  readonly reader: PlainReader;
  readonly #kernel: EngineKernel;
  readonly #headers = new Map<string, HeaderTexts>();
  readonly #windows = new Map<number, SectionWindow>();
  #keyTable = 0;
  readonly #keyTexts: number[] = [];
  #keyBlockTable = 0;
  #keyTextBytes = 0;
  /** The addresses of blocks of keys in memory, by block number. */
  readonly #keyBlocks = new Map<number, number>();
  #transactionStarts: Uint32Array | undefined;
  #users = 0;
  /** The value of `byteLength` when the engine last counted it. */
  countedBytes = 0;

  constructor(segment: Segment, key: string, kernel: EngineKernel) {
    this.segment = segment;
    this.key = key;
    this.index = new SegmentIndex(segment);
    this.reader = new PlainReader(kernel, segment);
    this.#kernel = kernel;
  }

  /** The approximate memory in use. Blocks of keys are not included: they are released when the last run ends. */
  get byteLength(): number {
    const windows = [...this.#windows.values()].reduce(
      (sum, { length, rawBytesMax }) => sum + length + rawBytesMax,
      0,
    );
    const headers = [...this.#headers.values()].reduce(
      (sum, { byteLength }) => sum + byteLength,
      0,
    );
    const { directory } = this.segment;
    const keyTable = this.#keyTable === 0 ? 0 : directory.addressCount * 4;
    const chunks = Math.ceil(directory.plainBytes / chunkBytes);
    const opened =
      this.segment.blockTableBytes +
      (this.#transactionStarts?.byteLength ?? 0) +
      directory.groups.length * groupBytes +
      directory.parts.length * partBytes +
      chunks * chunkSumBytes;
    return this.index.byteLength + windows + opened + headers + keyTable + this.#keyTextBytes;
  }

  /** Returns the dictionary of a section in the kernel's memory, followed by space for a page of up to `rawBytesMax` bytes. */
  sectionWindow(section: number, rawBytesMax: number): SectionWindow {
    const known = this.#windows.get(section);
    if (known !== undefined && known.rawBytesMax >= rawBytesMax) return known;
    const length = this.segment.sectionDictionaryBytes(section);
    const window = this.#kernel.allocate(length + rawBytesMax);
    try {
      const target = this.#kernel.bytes.subarray(window, window + length);
      this.segment.readSectionDictionaryInto(section, target);
    } catch (error) {
      // A failure leaves the present window unchanged.
      this.#kernel.release(window);
      throw error;
    }
    if (known !== undefined) this.#kernel.release(known.window);
    const made = { window, length, rawBytesMax };
    this.#windows.set(section, made);
    return made;
  }

  /** The address of a table with the address of each key's text by id, or 0 if the text is not in memory. */
  get keyTable(): number {
    if (this.#keyTable === 0) {
      const { addressCount } = this.segment.directory;
      const byteCount = (addressCount + Math.ceil(addressCount / blockKeys)) * 4;
      this.#keyTable = this.#kernel.allocate(byteCount);
      this.#keyBlockTable = this.#keyTable + addressCount * 4;
      this.#kernel.bytes.fill(0, this.#keyTable, this.#keyTable + byteCount);
    }
    return this.#keyTable;
  }

  /** The address of a table with the address of each block of keys, or 0 if the block was not read. */
  get keyBlocks(): number {
    this.keyTable;
    return this.#keyBlockTable;
  }

  /** Keeps a block of keys until no run reads the segment. */
  keepKeyBlock(block: number, at: number): void {
    this.#kernel.ints[this.keyBlocks / 4 + block] = at;
    this.#keyBlocks.set(block, at);
  }

  /** For each block its first transaction, counted from the first of the segment. One entry more than there are blocks. */
  get transactionStarts(): Uint32Array {
    this.#transactionStarts ??= this.segment.counts.transactions.smallSums();
    return this.#transactionStarts;
  }

  /** Returns the block with a transaction, both counted from the first of the segment. */
  blockOf(transaction: number): number {
    return lowerBound(this.transactionStarts, transaction + 1) - 1;
  }

  /** How many runs read the segment. */
  get users(): number {
    return this.#users;
  }

  enter(): void {
    this.#users++;
  }

  /**
   * Ends the use by a run. The last one releases the blocks of keys and the long pages of postings, so that the next segment of a scan uses the
   * same memory. The texts of keys stay.
   */
  leave(): void {
    this.#users--;
    if (this.#users > 0) return;
    this.index.releaseLongPages();
    for (const [block, at] of this.#keyBlocks) {
      this.#kernel.ints[this.keyBlocks / 4 + block] = 0;
      this.#kernel.release(at);
    }
    this.#keyBlocks.clear();
  }

  allocateKeyTexts(byteCount: number): number {
    const at = this.#kernel.allocate(byteCount);
    this.#keyTexts.push(at);
    this.#keyTextBytes += byteCount;
    return at;
  }

  /** Returns the header texts for a list of fields. The caller decrements `users` when it no longer needs them. */
  useHeaders(fields: Selection['fields']['block']): HeaderTexts {
    const key = fields.join();
    let headers = this.#headers.get(key);
    if (headers === undefined) {
      headers = new HeaderTexts(this.segment, fields, this.#kernel);
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
      headers.release();
    }
  }

  release(): void {
    this.index.release();
    this.reader.release();
    for (const headers of this.#headers.values()) headers.release();
    const windows = [...this.#windows.values()].map(({ window }) => window);
    for (const at of [...windows, ...this.#keyTexts]) this.#kernel.release(at);
    if (this.#keyTable !== 0) this.#kernel.release(this.#keyTable);
  }
}
