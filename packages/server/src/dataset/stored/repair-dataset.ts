/**
 * Replaces the damaged parts of a dataset that is not open. A segment and a list get the same bytes again if possible. If the blocks of a
 * segment are built to another file, a commit replaces it. Indexes are made again from the segments.
 */
import { crc32 } from 'node:zlib';
import { unreachable } from '@sluice/base/assert';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { HotBlock, IndexRun, SealedSegment, SegmentList } from '../../chain/chain-snapshot.ts';
import { checkLink } from '../../chain/link-block.ts';
import { indexFile, listFile, segmentFile, takeSegments } from '../../chain/segment-lists.ts';
import { indexByteLength } from '../../segment/history/layout.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { type Fs, writeFileAtomically } from '../../storage/fs.ts';
import { ChainWriter } from '../chain-writer.ts';
import { datasetLimits } from '../dataset-limits.ts';
import type { MakeIndex } from '../history/index-thread.ts';
import { parseList } from '../list-files.ts';
import type { BuiltSegment } from '../merge/built-segment.ts';
import type { SegmentSequence } from '../merge/merge-thread.ts';
import { describeBuilt, SegmentStore } from '../segment-store.ts';
import { type Damage, type StoredPart, verifyDataset } from './verify-dataset.ts';

/** Where good copies come from. Each function throws a coded error if it has none. */
export interface RepairSource {
  /** Returns a file of the dataset. The caller verifies it. */
  readFile(file: string): Promise<Uint8Array>;
  /** Returns the blocks between two slots, both inclusive, each as a segment of one block, ascending. */
  loadBlocks(first: BlockHeader['number'], last: BlockHeader['number']): Promise<Uint8Array[]>;
}

export interface RepairOptions {
  readonly folder: string;
  readonly onPart?: (blockCount: number, byteLength: number) => void;
  /** Called after each damaged part, with the reason if it could not be repaired. */
  readonly onRepaired: (file: string, failure: CodedError | undefined) => void;
}

export interface RepairDependencies {
  readonly fs: Fs;
  readonly isLockHeld: () => boolean;
  readonly merge: (segments: SegmentSequence) => Promise<BuiltSegment>;
  readonly makeIndex: MakeIndex;
  /** Tried in this order. */
  readonly sources: readonly RepairSource[];
  readonly signal: AbortSignal;
}

/** Verifies a dataset and repairs what is damaged. Returns the damage that is left. */
export async function repairDataset(
  options: RepairOptions,
  dependencies: RepairDependencies,
): Promise<readonly Damage[]> {
  const { fs, signal } = dependencies;
  let damages = await verifyDataset(options, fs, signal);
  // A repaired list shows the segments in it.
  for (let isFirst = true; isFirst || damages.some(({ part }) => part?.kind === 'segment'); ) {
    const isRepaired = await repairParts(damages, options, dependencies);
    if (!isRepaired || signal.aborted) break;
    isFirst = false;
    damages = await verifyDataset({ folder: options.folder }, fs, signal);
  }
  return damages;
}

/** Returns whether a part was repaired. */
async function repairParts(
  damages: readonly Damage[],
  { folder, onRepaired }: RepairOptions,
  dependencies: RepairDependencies,
): Promise<boolean> {
  const parts = new Map<string, StoredPart>();
  for (const { file, part } of damages) if (part !== undefined) parts.set(file, part);
  if (parts.size === 0) return false;
  const { fs, isLockHeld, signal } = dependencies;
  const limits = { fileBytesMax: datasetLimits.journalFileBytesMax };
  const writer = await ChainWriter.open(
    {
      journal: { folder: `${folder}/journal`, ...limits },
      groupBytesMax: datasetLimits.groupBytesMax,
    },
    { fs, isLockHeld, onVisible: () => undefined, leasedPayloads: () => new Set() },
  );
  let isRepaired = false;
  try {
    const repair = new Repair(folder, dependencies, writer);
    for (const [file, part] of parts) {
      if (signal.aborted) return isRepaired;
      const failure = await repair.run(part);
      isRepaired ||= failure === undefined;
      onRepaired(file, failure);
    }
  } finally {
    await writer.close();
  }
  return isRepaired;
}

class Repair {
  readonly #folder: string;
  readonly #dependencies: RepairDependencies;
  readonly #writer: ChainWriter;
  readonly #store: SegmentStore;

  constructor(folder: string, dependencies: RepairDependencies, writer: ChainWriter) {
    this.#folder = folder;
    this.#dependencies = dependencies;
    this.#writer = writer;
    this.#store = new SegmentStore(folder, dependencies.fs);
  }

  /** Returns the reason if no source has a good copy. */
  async run(part: StoredPart): Promise<CodedError | undefined> {
    try {
      await this.#repair(part);
      return undefined;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return error;
    }
  }

  async #repair(part: StoredPart): Promise<void> {
    switch (part.kind) {
      case 'segment':
        return this.#fromAny(
          (source) => this.#copySegment(part.segment, source),
          (source) => this.#buildSegment(part.segment, source),
        );
      case 'list':
        return this.#fromAny((source) => this.#copyList(part.list, source));
      case 'hot':
        return this.#fromAny((source) => this.#loadHot(part.block, source));
      case 'index':
        return this.#remakeIndex(part.run);
      default:
        return unreachable(part);
    }
  }

  /** Tries each attempt with each source until one succeeds. */
  async #fromAny(...attempts: readonly ((source: RepairSource) => Promise<void>)[]): Promise<void> {
    let failure: CodedError = new CodedError('repair-source-missing');
    for (const attempt of attempts) {
      for (const source of this.#dependencies.sources) {
        try {
          return await attempt(source);
        } catch (error) {
          if (!isCodedError(error)) throw error;
          failure = error;
        }
      }
    }
    throw failure;
  }

  async #copySegment(segment: SealedSegment, source: RepairSource): Promise<void> {
    const bytes = await source.readFile(segmentFile(segment));
    const isSame = bytes.length === segment.byteLength && segment.id.includes(hex(crc32(bytes)));
    if (!isSame) throw new CodedError('segment-damaged', { segment: segment.id });
    await this.#write(segmentFile(segment), bytes);
  }

  async #copyList(list: SegmentList, source: RepairSource): Promise<void> {
    const bytes = await source.readFile(listFile(list));
    parseList(list, bytes);
    await this.#write(listFile(list), bytes);
  }

  async #buildSegment(segment: SealedSegment, source: RepairSource): Promise<void> {
    const { first, last } = segment;
    const payloads = await source.loadBlocks(first.number, last.number);
    const headers = payloads.flatMap((bytes) => openSegment(bytes).headers.toArray());
    // The hashes of the first and the last block are known, and the links prove those between them.
    for (const [i, header] of headers.entries()) {
      const parent = headers[i - 1];
      if (parent !== undefined) checkLink(parent, header);
    }
    const isSame = headers[0]?.hash === first.hash && headers.at(-1)?.hash === last.hash;
    if (!isSame) throw new CodedError('repair-source-differs', { slot: last.number });
    const built = await this.#dependencies.merge(payloads);
    const rebuilt = describeBuilt(built, headers);
    if (rebuilt.id === segment.id) return this.#store.write(segment, built.parts);
    const { front, segments } = this.#writer.visible;
    const isListed = ![...front, ...segments].some(({ id }) => id === segment.id);
    if (isListed) throw new CodedError('repair-source-differs', { slot: last.number });
    await this.#writer.commit([{ kind: 'announce', files: [segmentFile(rebuilt)] }]);
    await this.#store.write(rebuilt, built.parts);
    await this.#writer.commit([{ kind: 'merge', segment: rebuilt }]);
    await this.#removeUnused();
  }

  /** All hot blocks are written again, because payloads are numbered in the order of the chain. */
  async #loadHot({ header }: HotBlock, source: RepairSource): Promise<void> {
    const [loaded] = await source.loadBlocks(header.number, header.number);
    const isSame = loaded !== undefined && openSegment(loaded).headers.hashAt(0) === header.hash;
    if (!isSame) throw new CodedError('repair-source-differs', { slot: header.number });
    const blocks = [];
    for (const block of this.#writer.visible.hot) {
      const isDamaged = block.header.hash === header.hash;
      const bytes = isDamaged ? loaded : await this.#writer.readPayload(block.payload);
      blocks.push({ header: block.header, bytes });
    }
    await this.#writer.commit([{ kind: 'rewrite', segments: [], blocks }]);
  }

  async #remakeIndex(run: IndexRun): Promise<void> {
    const { signal, makeIndex } = this.#dependencies;
    const { first, last } = run;
    const readList = (list: SegmentList) => this.#store.readList(list);
    const limit = { countMax: Number.POSITIVE_INFINITY };
    const found = await takeSegments(this.#writer.visible, first, limit, readList);
    const segments = found
      .filter((segment) => segment.first.number <= last)
      .map((segment) => ({
        segment,
        first: Math.max(first, segment.first.number === 0 ? 0 : segment.parentSlot + 1),
        last: Math.min(last, segment.last.number),
      }));
    const id = `${first}-${last}-${this.#writer.visible.version}-repaired.index`;
    await this.#writer.commit([{ kind: 'announce', files: [indexFile({ id })] }]);
    const shape = await this.#store.makeIndex({ id, segments, runs: [] }, makeIndex, signal);
    const remade = { id, first, last, ...shape, byteLength: indexByteLength(shape) };
    await this.#writer.commit([{ kind: 'index', run: remade }]);
    await this.#removeUnused();
  }

  async #removeUnused(): Promise<void> {
    const files = await this.#store.remove(this.#writer.visible.unused);
    await this.#writer.commit([{ kind: 'forget', files }]);
  }

  async #write(file: string, bytes: Uint8Array): Promise<void> {
    const [subfolder = '', name = ''] = file.split('/');
    const folder = `${this.#folder}/${subfolder}`;
    await this.#dependencies.fs.makeFolder(folder);
    await writeFileAtomically(this.#dependencies.fs, folder, name, [bytes]);
  }
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}
