/** A dataset in memory that uses the real transitions of a chain, without a disk. */

import { assert } from '@sluice/base/assert';
import { systemClock } from '@sluice/base/clock';
import type { Block, BlockHeader, BlockRef } from '@sluice/ledger/block';
import { applyChanges } from '../../chain/apply-changes.ts';
import type { ChainChange } from '../../chain/chain-change.ts';
import {
  type ChainSnapshot,
  emptySnapshot,
  type HotBlock,
  type SealedSegment,
} from '../../chain/chain-snapshot.ts';
import { refOf } from '../../chain/find-blocks.ts';
import { sealRun } from '../../chain/testing/chain-fixtures.ts';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import type {
  Allocate,
  DatasetDescription,
  DatasetReader,
  DatasetStatus,
  SnapshotLease,
} from '../../dataset/dataset-reader.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { makeBlock } from './make-block.ts';

export interface MemoryDatasetOptions {
  readonly name?: string;
  readonly aliases?: readonly string[];
  /** The slot below the first block. Without it the chain starts at slot 0. */
  readonly anchor?: number;
  readonly isStarted?: boolean;
  /** Whether a source feeds the dataset; true by default. */
  readonly realTime?: boolean;
  /** The number of rewards per block. */
  readonly rewardCount?: number;
}

/** Returns whether a block has matching records: every third slot does. */
export const matchesByDefault = (slot: number) => slot % 3 === 0;

export class MemoryDataset implements DatasetReader {
  readonly alarms = new AlarmBoard(systemClock);
  readonly description: DatasetDescription;
  readonly #blocks = new Map<string, Block>();
  readonly #waiters = new Set<() => void>();
  readonly #rewardCount: number;
  #snapshot: ChainSnapshot = emptySnapshot;
  leaseCount = 0;
  readonly damages: string[] = [];
  decodeCount = 0;
  /** Called before each block is read. */
  onDecode: () => void = () => undefined;
  /** If set, reading fails with it. */
  fault: Error | undefined;

  constructor(options: MemoryDatasetOptions = {}) {
    const { name = 'ledger-test', aliases = [], anchor, isStarted = true } = options;
    this.#rewardCount = options.rewardCount ?? 1;
    this.description = {
      name,
      aliases,
      realTime: options.realTime ?? true,
      votes: 'drop',
      allowMissing: [],
      genesisHash: null,
    };
    if (isStarted) this.start(anchor);
  }

  start(anchor?: number): void {
    const below = anchor === undefined ? null : makeBlock(anchor, null).header;
    this.#commit([{ kind: 'create', anchor: below === null ? null : refOf(below) }]);
  }

  /** Adds blocks at these slots on top of the head. */
  extend(slots: readonly number[], branch = 'a', matches = matchesByDefault): void {
    this.#commit([{ kind: 'extend', blocks: this.#run(slots, { branch, matches }) }]);
  }

  /** Replaces everything above a slot. */
  fork(above: number, slots: readonly number[], branch: string): void {
    const ancestor = this.refAt(above);
    const blocks = this.#run(slots, { branch, matches: matchesByDefault, below: above });
    this.#commit([{ kind: 'replace', ancestor, blocks }]);
  }

  finalize(slot: number): void {
    this.#commit([{ kind: 'finalize', block: this.refAt(slot) }]);
  }

  /** Moves all hot blocks up to a slot into one segment. */
  seal(upTo: number): void {
    const run = this.#snapshot.hot.filter(({ header }) => header.number <= upTo);
    this.#commit([{ kind: 'seal', segments: [sealRun(run)] }]);
  }

  trim(keepFrom: number): void {
    this.#commit([{ kind: 'trim', keepFrom: keepFrom as BlockRef['number'] }]);
  }

  refAt(slot: number): BlockRef {
    const header = this.#headers().find(({ number }) => number === slot);
    assert(header !== undefined, `there is a block at ${slot}`);
    return refOf(header);
  }

  snapshot(): ChainSnapshot {
    return this.#snapshot;
  }

  async changed(sinceVersion: number, signal: AbortSignal): Promise<ChainSnapshot> {
    while (this.#snapshot.version <= sinceVersion && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiters.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiters.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    }
    return this.#snapshot;
  }

  acquire(): SnapshotLease {
    this.leaseCount += 1;
    let isHeld = true;
    const release = () => {
      if (isHeld) this.leaseCount -= 1;
      isHeld = false;
    };
    return { snapshot: this.#snapshot, release };
  }

  async readHotBlock(block: HotBlock, allocate?: Allocate): Promise<Uint8Array> {
    const bytes = buildSegment([await this.decodeHotBlock(block)]);
    if (allocate === undefined) return bytes;
    const copy = allocate(bytes.length);
    copy.set(bytes);
    return copy;
  }

  async decodeHotBlock({ header }: HotBlock): Promise<Block> {
    this.decodeCount += 1;
    this.onDecode();
    if (this.fault !== undefined) throw this.fault;
    return this.#blocks.get(header.hash) as Block;
  }

  readonly readList = () => Promise.reject(new Error('this dataset has no lists'));

  /** Returns the hashes of the blocks, from which `decodeSegment` finds the blocks. */
  async readSegment(segment: SealedSegment): Promise<Uint8Array> {
    if (this.fault !== undefined) throw this.fault;
    const headers = await this.readHeaders(segment);
    return Buffer.from(headers.map(({ hash }) => hash).join());
  }

  readonly decodeSegment = (bytes: Uint8Array): readonly Block[] =>
    Buffer.from(bytes)
      .toString()
      .split(',')
      .map((hash) => this.#blocks.get(hash) as Block);

  segmentPath({ id }: SealedSegment): string {
    return id;
  }

  async readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    const headers: BlockHeader[] = [];
    let hash: string | null = segment.last.hash;
    for (let i = 0; i < segment.blockCount; i++) {
      const block: Block = this.#blocks.get(hash ?? '') as Block;
      headers.push(block.header);
      hash = block.header.parentHash;
    }
    return headers.reverse();
  }

  reportDamage(segment: SealedSegment, cause: string): void {
    this.damages.push(`${segment.id}: ${cause}`);
  }

  status(): DatasetStatus {
    return {
      storage: { kind: 'open' },
      freeBytes: null,
      leaseCount: this.leaseCount,
      counters: {},
      alarms: this.alarms.list(),
    };
  }

  #headers(): BlockHeader[] {
    const headers: BlockHeader[] = [];
    let hash: string | null = this.#snapshot.head?.hash ?? null;
    for (;;) {
      const block = this.#blocks.get(hash ?? '');
      if (block === undefined) return headers;
      headers.push(block.header);
      hash = block.header.parentHash;
    }
  }

  #run(
    slots: readonly number[],
    {
      branch,
      matches,
      below,
    }: { branch: string; matches: typeof matchesByDefault; below?: number },
  ): HotBlock[] {
    const { anchor } = this.#snapshot;
    let parent: BlockHeader | null =
      this.#headers().find(({ number }) => below === undefined || number <= below) ??
      (anchor === null ? null : makeBlock(anchor.number, null).header);
    return slots.map((slot) => {
      const block = makeBlock(slot, parent, {
        branch,
        hasMatch: matches(slot),
        rewardCount: this.#rewardCount,
      });
      this.#blocks.set(block.header.hash, block);
      parent = block.header;
      return { header: block.header, payload: slot };
    });
  }

  #commit(changes: readonly ChainChange[]): void {
    this.#snapshot = applyChanges(this.#snapshot, changes);
    for (const wake of this.#waiters) wake();
  }
}
