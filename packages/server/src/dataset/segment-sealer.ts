import type { BlockHeader } from '@sluice/ledger/block';
import type { ChainSnapshot, HotBlock, IndexRun, SealedSegment } from '../chain/chain-snapshot.ts';
import { chooseList, indexFile, listFile, segmentFile } from '../chain/segment-lists.ts';
import type { ChainWriter, NewChange } from './chain-writer.ts';
import type { DatasetLimits } from './dataset-limits.ts';
import type { DatasetWriter } from './dataset-writer.ts';
import { buildList } from './list-files.ts';
import type { BuiltSegment } from './merge/built-segment.ts';
import { chooseMerge, isMerged, isMergeUrgent } from './merge/choose-merge.ts';
import type { SegmentSequence } from './merge/merge-thread.ts';
import type { SegmentFiles } from './segment-files.ts';
import { describeBuilt } from './segment-store.ts';

export interface SegmentSealerDependencies {
  readonly chain: ChainWriter;
  readonly writer: DatasetWriter;
  readonly segments: SegmentFiles;
  /** Merges several segments into one. */
  readonly merge: (segments: SegmentSequence) => Promise<BuiltSegment>;
  /** Does the same with rests. */
  readonly mergeSlowly: (segments: SegmentSequence) => Promise<BuiltSegment>;
}

/** Stores finalized blocks as segment files and commits them to the chain. */
export class SegmentSealer {
  readonly #limits: DatasetLimits;
  readonly #dependencies: SegmentSealerDependencies;
  readonly #inUse = new Set<string>();

  constructor(limits: DatasetLimits, dependencies: SegmentSealerDependencies) {
    this.#limits = limits;
    this.#dependencies = dependencies;
  }

  /** Seals the lowest finalized hot blocks of a leased snapshot. Returns false if there are too few of them. */
  async seal(snapshot: ChainSnapshot): Promise<boolean> {
    const { chain, writer, merge } = this.#dependencies;
    const blocks = chooseBlocksToSeal(snapshot, this.#limits, ({ payload }) =>
      chain.payloadLength(payload),
    );
    if (blocks.length === 0) return false;
    await writer.space.check();
    const built = await merge(readPayloads(chain, blocks));
    await this.#commit(
      'seal',
      built,
      blocks.map(({ header }) => header),
    );
    return true;
  }

  append(built: BuiltSegment, headers: readonly BlockHeader[]): Promise<ChainSnapshot> {
    return this.#commit('append-sealed', built, headers);
  }

  async prepend(
    payloads: readonly Uint8Array[],
    headers: readonly BlockHeader[],
  ): Promise<ChainSnapshot> {
    const { writer, merge } = this.#dependencies;
    await writer.space.check();
    return this.#commit('prepend', await merge(payloads), headers);
  }

  prependBuilt(built: BuiltSegment, headers: readonly BlockHeader[]): Promise<ChainSnapshot> {
    return this.#commit('prepend', built, headers);
  }

  async #commit(
    kind: 'seal' | 'append-sealed' | 'prepend',
    built: BuiltSegment,
    headers: readonly BlockHeader[],
  ): Promise<ChainSnapshot> {
    const { writer, segments } = this.#dependencies;
    await writer.space.check();
    const segment = describeBuilt(built, headers);
    const write = () => segments.write(segment, built.parts);
    return this.#store(segmentFile(segment), write, { kind, segments: [segment] });
  }

  /** Merges small segments of a leased snapshot into a large one. Returns false if there are too few of them. */
  async merge(snapshot: ChainSnapshot): Promise<boolean> {
    const { writer, segments, merge, mergeSlowly } = this.#dependencies;
    const parts = chooseMerge(snapshot, this.#limits);
    if (parts.length === 0) return false;
    await writer.space.check();
    const headers: BlockHeader[] = [];
    for (const part of parts) headers.push(...(await segments.readHeaders(part)));
    const mergeNow = isMergeUrgent(snapshot, this.#limits) ? merge : mergeSlowly;
    const built = await mergeNow(readSegments(segments, parts));
    const segment = describeBuilt(built, headers);
    const write = () => segments.write(segment, built.parts);
    await this.#store(segmentFile(segment), write, { kind: 'merge', segment });
    return true;
  }

  /** Adds an index that `make` makes. The files of its inputs are not removed from the moment of this call until the index is added. */
  addIndex(
    run: IndexRun['id'],
    inputs: readonly string[],
    make: () => Promise<IndexRun>,
  ): Promise<void> {
    const { writer } = this.#dependencies;
    const file = indexFile({ id: run });
    return this.#use([file, ...inputs], async () => {
      await writer.commit([{ kind: 'announce', files: [file] }]);
      await writer.commit([{ kind: 'index', run: await make() }]);
    });
  }

  /** Moves older segments, or lists, into a list. Returns false if there are too few of them. */
  async list(): Promise<boolean> {
    const { chain, segments } = this.#dependencies;
    const next = chooseList(chain.pending, (segment) => isMerged(segment, this.#limits));
    if (next === undefined) return false;
    const { list, bytes } = buildList(next);
    const write = () => segments.writeList(list, bytes);
    await this.#store(listFile(list), write, { kind: 'list', list });
    return true;
  }

  /** The files that are announced and whose change is not committed yet, and those that are being read for it. They must not be removed. */
  get inUse(): ReadonlySet<string> {
    return this.#inUse;
  }

  /**
   * The file is announced before it is written, and durable before the commit that refers to it. A crash in between leaves an unused file
   * that the chain knows.
   */
  #store(file: string, write: () => Promise<void>, change: NewChange): Promise<ChainSnapshot> {
    const { writer } = this.#dependencies;
    return this.#use([file], async () => {
      await writer.commit([{ kind: 'announce', files: [file] }]);
      await write();
      return writer.commit([change]);
    });
  }

  async #use<Result>(files: readonly string[], work: () => Promise<Result>): Promise<Result> {
    for (const file of files) this.#inUse.add(file);
    try {
      return await work();
    } finally {
      for (const file of files) this.#inUse.delete(file);
    }
  }
}

async function* readSegments(
  files: SegmentFiles,
  segments: readonly SealedSegment[],
): AsyncGenerator<Uint8Array> {
  for (const segment of segments) yield await files.read(segment);
}

async function* readPayloads(
  chain: ChainWriter,
  blocks: readonly HotBlock[],
): AsyncGenerator<Uint8Array> {
  for (const { payload } of blocks) yield await chain.readPayload(payload);
}

/** Returns the lowest finalized hot blocks that fill one segment, or none if there are too few. */
export function chooseBlocksToSeal(
  { hot, finalized }: ChainSnapshot,
  { sealBlockCount, sealBytes }: Pick<DatasetLimits, 'sealBlockCount' | 'sealBytes'>,
  lengthOf: (block: HotBlock) => number,
): readonly HotBlock[] {
  if (finalized === null) return [];
  let bytes = 0;
  for (const [i, block] of hot.entries()) {
    if (block.header.number > finalized.number) return [];
    bytes += lengthOf(block);
    if (i + 1 >= sealBlockCount || bytes >= sealBytes) return hot.slice(0, i + 1);
  }
  return [];
}
