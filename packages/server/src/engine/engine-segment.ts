import type { Selection } from '../query/query.ts';
import type { Segment } from '../segment/open-segment.ts';
import { SegmentIndex } from '../segment/segment-index.ts';
import type { EngineKernel } from './engine-kernel.ts';
import { buildHeaderTexts, type HeaderTexts } from './header-texts.ts';

/** A segment as the engine keeps it while it is open. */
export class EngineSegment {
  readonly segment: Segment;
  readonly key: string;
  readonly index: SegmentIndex;
  /** Where each dictionary page's texts are in the kernel's memory; 0 if they are not loaded. */
  readonly pageTable: number;
  readonly #headers = new Map<string, HeaderTexts>();

  constructor(segment: Segment, key: string, kernel: EngineKernel) {
    this.segment = segment;
    this.key = key;
    this.index = new SegmentIndex(segment);
    const pageCount = segment.directory.dictionaryPages.length;
    this.pageTable = kernel.allocate(pageCount * 4);
    kernel.ints.fill(0, this.pageTable / 4, this.pageTable / 4 + pageCount);
  }

  headerTexts(fields: Selection['fields']['block']): HeaderTexts {
    const key = fields.join();
    let texts = this.#headers.get(key);
    if (texts === undefined) {
      texts = buildHeaderTexts(this.segment, fields);
      this.#headers.set(key, texts);
    }
    return texts;
  }
}
