import type { Selection } from '../query/query.ts';
import type { Segment } from '../segment/open-segment.ts';
import { SegmentIndex } from '../segment/segment-index.ts';
import type { Shelf } from './column-cache.ts';
import type { EngineKernel } from './engine-kernel.ts';
import { buildHeaderTexts, type HeaderTexts } from './header-texts.ts';

/** Field lists whose header texts are kept; queries use one or two. */
const headerListsMax = 4;
/** What an address takes in filter, ids and postings, and a block in headers and their text; both on the high side. */
const addressBytes = 24;
const blockBytes = 1_200;

/** A segment as the engine keeps it: directory, index and headers in memory. */
export class EngineSegment {
  readonly segment: Segment;
  readonly key: string;
  readonly index: SegmentIndex;
  /** Where each dictionary page's texts are in the kernel's memory; 0 if they are not loaded. */
  readonly pageTable: number;
  /** Texts of dictionary pages, by number. */
  readonly pageShelf: Shelf = new Map();
  readonly #groupShelves: Shelf[];
  readonly #headers = new Map<string, HeaderTexts>();
  /** How many runs read it now. */
  users = 0;

  constructor(segment: Segment, key: string, kernel: EngineKernel) {
    this.segment = segment;
    this.key = key;
    this.index = new SegmentIndex(segment);
    this.#groupShelves = segment.directory.groups.map(() => new Map());
    const pageCount = segment.directory.dictionaryPages.length;
    this.pageTable = kernel.allocate(pageCount * 4);
    kernel.ints.fill(0, this.pageTable / 4, this.pageTable / 4 + pageCount);
  }

  /** About what it takes beside the kernel's memory, once all of it has been used. */
  get indexBytes(): number {
    const { addressCount, blockCount } = this.segment.directory;
    return addressCount * addressBytes + blockCount * blockBytes;
  }

  groupShelf(number: number): Shelf {
    return this.#groupShelves[number] as Shelf;
  }

  get shelves(): readonly Shelf[] {
    return [this.pageShelf, ...this.#groupShelves];
  }

  headerTexts(fields: Selection['fields']['block']): HeaderTexts {
    const key = fields.join();
    let texts = this.#headers.get(key);
    if (texts === undefined) {
      texts = buildHeaderTexts(this.segment, fields);
      const oldest = this.#headers.keys().next().value;
      if (oldest !== undefined && this.#headers.size >= headerListsMax)
        this.#headers.delete(oldest);
      this.#headers.set(key, texts);
    }
    return texts;
  }
}
