/**
 * Verifies a dataset from its files alone: the manifest, the journal, the checksum of every unit of every segment, and
 * the link of every block to its parent. It only reads. A writer may be active; files that it removes meanwhile are not
 * reported as damage.
 */
import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import { unreachable } from '@sluice/base/assert';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type {
  ChainSnapshot,
  HotBlock,
  IndexRun,
  SealedSegment,
  SegmentList,
} from '../../chain/chain-snapshot.ts';
import { checkLink, type ParentPoint } from '../../chain/link-block.ts';
import {
  findSegment,
  indexFile,
  type ListContent,
  listFile,
  type ReadList,
  segmentFile,
} from '../../chain/segment-lists.ts';
import { locateSignatureIndex } from '../../segment/indexes/signature-index-range.ts';
import { openSegment, verifySegment } from '../../segment/read/open-segment.ts';
import { type Fs, readWholeFile } from '../../storage/fs.ts';
import { manifestName, readManifest } from '../manifest.ts';
import { describeSegment, SegmentStore } from '../segment-store.ts';
import { readStoredDataset, type StoredDataset } from './stored-dataset.ts';
import { verifyIndexFile } from './verify-index-file.ts';

export interface Damage {
  /** The file, relative to the dataset's folder. */
  readonly file: string;
  readonly error: CodedError;
  /** The damaged part. Absent if the manifest or the journal cannot be read, because then the parts are unknown. */
  readonly part?: StoredPart;
}

/** A file, or a block of the journal, that `sluice repair` can replace without changing the rest of the dataset. */
export type StoredPart =
  | { readonly kind: 'segment'; readonly segment: SealedSegment }
  | { readonly kind: 'list'; readonly list: SegmentList }
  | { readonly kind: 'index'; readonly run: IndexRun }
  | { readonly kind: 'hot'; readonly block: HotBlock };

export interface VerifyOptions {
  readonly folder: string;
  /** Called after each segment and hot block with its number of blocks and bytes. */
  readonly onPart?: (blockCount: number, byteLength: number) => void;
  /** Called at the end if the journal ends with bytes that are no complete record. They are no damage: a kill during a write leaves some. */
  readonly onIncomplete?: (byteLength: number) => void;
}

export async function verifyDataset(
  options: VerifyOptions,
  fs: Fs,
  signal: AbortSignal,
): Promise<Damage[]> {
  const { folder } = options;
  let file = manifestName;
  try {
    await readManifest(fs, folder);
    file = 'journal';
    const stored = await readStoredDataset(folder, fs);
    const damages = await new Verification(options, fs, stored).run(signal);
    if (await staysIncomplete(stored, options, fs)) options.onIncomplete?.(stored.incompleteBytes);
    return damages;
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return [{ file, error }];
  }
}

/** Reads the journal again, because a writer that is active may just have written the record. */
async function staysIncomplete(
  { incompleteBytes, byteLength }: StoredDataset,
  { folder }: VerifyOptions,
  fs: Fs,
): Promise<boolean> {
  if (incompleteBytes === 0) return false;
  try {
    const again = await readStoredDataset(folder, fs);
    return again.incompleteBytes === incompleteBytes && again.byteLength === byteLength;
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return false;
  }
}

class Verification {
  readonly #options: VerifyOptions;
  readonly #fs: Fs;
  readonly #stored: StoredDataset;
  readonly #readList: ReadList;
  readonly #damages: Damage[] = [];
  #parent: ParentPoint;

  constructor(options: VerifyOptions, fs: Fs, stored: StoredDataset) {
    this.#options = options;
    this.#fs = fs;
    this.#stored = stored;
    const store = new SegmentStore(options.folder, fs);
    this.#readList = (list) => store.readList(list);
    const { anchor } = stored.snapshot;
    this.#parent = anchor === null ? null : { ...anchor, height: null };
  }

  async run(signal: AbortSignal): Promise<Damage[]> {
    const { snapshot } = this.#stored;
    for await (const segment of this.#segments()) {
      if (signal.aborted) break;
      await this.#checkPart({ kind: 'segment', segment }, () => this.#checkSegment(segment));
      this.#parent = { ...segment.last, height: segment.lastHeight };
      this.#options.onPart?.(segment.blockCount, segment.byteLength);
    }
    for (const block of snapshot.hot) {
      if (signal.aborted) break;
      await this.#checkPart({ kind: 'hot', block }, () => this.#checkHot(block));
      this.#parent = block.header;
    }
    for (const run of snapshot.indexes) {
      if (signal.aborted) break;
      await this.#checkPart({ kind: 'index', run }, () => this.#checkIndex(run));
    }
    return this.#damages;
  }

  async *#segments(): AsyncGenerator<SealedSegment> {
    const { front, lists, segments } = this.#stored.snapshot;
    yield* front;
    yield* this.#listed(lists);
    yield* segments;
  }

  /** Returns the segments of lists. Those of a damaged list are left out. */
  async *#listed(lists: readonly SegmentList[]): AsyncGenerator<SealedSegment> {
    for (const list of lists) {
      let content: ListContent | undefined;
      await this.#checkPart({ kind: 'list', list }, async () => {
        content = await this.#readList(list);
        return [];
      });
      if (content === undefined) this.#parent = { ...list.last, height: list.lastHeight };
      else if (content.kind === 'lists') yield* this.#listed(content.lists);
      else yield* content.segments;
    }
  }

  async #checkPart(part: StoredPart, check: () => Promise<CodedError[]>): Promise<void> {
    let errors: CodedError[];
    try {
      errors = await check();
    } catch (error) {
      if (!isCodedError(error)) throw error;
      errors = [error];
    }
    if (errors.length === 0) return;
    // The part was sealed, merged or removed since the journal was read, so it is no longer needed.
    if (!(await this.#isIn(await this.#readAgain(), part))) return;
    const file = fileOf(part);
    for (const error of errors) this.#damages.push({ file, error, part });
  }

  #isIn(snapshot: ChainSnapshot, part: StoredPart): boolean | Promise<boolean> {
    switch (part.kind) {
      case 'segment':
        return this.#hasSegment(snapshot, part.segment);
      case 'hot':
        return snapshot.hot.some(({ payload }) => payload === part.block.payload);
      case 'index':
        return snapshot.indexes.some(({ id }) => id === part.run.id);
      case 'list':
        // A list inside of another one stays as long as that one.
        return snapshot.lists.some(
          ({ first, last }) =>
            first.number <= part.list.first.number && last.number >= part.list.last.number,
        );
      default:
        return unreachable(part);
    }
  }

  /** Reads the current state. If the journal has been damaged meanwhile, the earlier findings still count. */
  async #readAgain(): Promise<ChainSnapshot> {
    try {
      return (await readStoredDataset(this.#options.folder, this.#fs)).snapshot;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return this.#stored.snapshot;
    }
  }

  /** A list that cannot be read counts as one that still has the segment. */
  async #hasSegment(snapshot: ChainSnapshot, segment: SealedSegment): Promise<boolean> {
    try {
      const current = await findSegment(snapshot, segment.first.number, this.#readList);
      return current?.id === segment.id;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return true;
    }
  }

  async #checkSegment(segment: SealedSegment): Promise<CodedError[]> {
    const bytes = await readWholeFile(this.#fs, `${this.#options.folder}/segments/${segment.id}`);
    const opened = openSegment(bytes);
    const faults = verifySegment(opened);
    if (faults.length > 0) return faults;
    const headers = opened.headers.toArray();
    this.#checkLinks(headers);
    const { byteLength } = bytes;
    const signatures = locateSignatureIndex(opened);
    const described = describeSegment({ byteLength, checksum: crc32(bytes), signatures }, headers);
    if (described.id !== segment.id)
      return [fileDamage('the content does not match the file name')];
    const isLocated =
      segment.signatures === undefined || isDeepStrictEqual(segment.signatures, signatures);
    return isLocated ? [] : [fileDamage('the journal has another position of its signature index')];
  }

  async #checkIndex(run: IndexRun): Promise<CodedError[]> {
    await verifyIndexFile(run, `${this.#options.folder}/${indexFile(run)}`, this.#fs);
    return [];
  }

  async #checkHot(block: HotBlock): Promise<CodedError[]> {
    const bytes = await this.#stored.readHotBlock(block);
    this.#options.onPart?.(1, bytes.byteLength);
    const opened = openSegment(bytes);
    const faults = verifySegment(opened);
    if (faults.length > 0) return faults;
    this.#checkLinks(opened.headers.toArray());
    const isExpected = opened.blockCount === 1 && opened.headers.hashAt(0) === block.header.hash;
    return isExpected ? [] : [fileDamage('the block is not the one recorded in the journal')];
  }

  #checkLinks(headers: readonly BlockHeader[]): void {
    let parent = this.#parent;
    for (const header of headers) {
      checkLink(parent, header);
      parent = header;
    }
  }
}

/** Returns the name of a file, relative to the dataset's folder, and the slot if the part is a block in it. */
function fileOf(part: StoredPart): string {
  switch (part.kind) {
    case 'segment':
      return segmentFile(part.segment);
    case 'list':
      return listFile(part.list);
    case 'index':
      return indexFile(part.run);
    case 'hot':
      return `journal, slot ${part.block.header.number}`;
    default:
      return unreachable(part);
  }
}

function fileDamage(reason: string): CodedError {
  return new CodedError('segment-damaged', { unit: 'file', reason });
}
