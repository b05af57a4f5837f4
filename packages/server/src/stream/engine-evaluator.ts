import { assert } from '../base/assert.ts';
import { type CodedError, isCodedError } from '../base/errors.ts';
import { SharedBufferPool } from '../base/shared-buffer-pool.ts';
import type { HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import { firstHotAtOrAfter, firstSegmentEndingAtOrAfter } from '../chain/find-blocks.ts';
import type { DatasetReader, RemoteSegment } from '../dataset/dataset-reader.ts';
import type { RunPiece } from '../engine/engine-messages.ts';
import type { EnginePool } from '../engine/engine-pool.ts';
import { SegmentFailure } from '../engine/segment-failure.ts';
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { LinePiece } from './line-piece.ts';
import { idleBytesMax, OpenSegments } from './open-segments.ts';

export interface EngineEvaluatorModules {
  readonly dataset: DatasetReader;
  /** Shared with other datasets. */
  readonly pool: EnginePool;
}

/**
 * Sealed segments evaluated by one run. Between runs the threads wait until the reader has taken all of the one before; within
 * one they open a segment when they come to it.
 */
const sealedRunCountMax = 8;

/** Hot blocks evaluated by one run: enough to keep the threads busy, few enough to read ahead. */
const hotRunCountMax = 8;

/** Memory for hot blocks: those that are kept open, and as much for those that are read while they are. */
const roomLimits = { countMax: 1_024, bytesMax: idleBytesMax * 2, granuleBytes: 1 << 15 };

/** What one run of the pool goes over, and how to name the blocks in it. */
interface RunPlan {
  readonly keys: readonly string[];
  readonly partCount?: number | undefined;
  readonly turn: number;
  /** The last slot that it covers. */
  readonly last: number;
  readonly hashAt: (slot: number) => BlockHash | undefined | Promise<BlockHash | undefined>;
  /** Where a fault of a segment is one of the dataset. */
  readonly reportDamage?: (failure: SegmentFailure) => void;
  readonly release: () => void;
}

/** Answers by the engine's threads: sealed segments from their files, hot blocks from the bytes of the journal. */
export class EngineEvaluator implements BlockEvaluator {
  readonly #dataset: DatasetReader;
  readonly #pool: EnginePool;
  readonly #segments: OpenSegments;
  /** Queries of one block take turns: loading it in every thread is less than one thread's answers to all of them. */
  #nextTurn = 0;
  /** Blocks on their way to the threads: at the head all queries ask for the same one at once. */
  readonly #opening = new Map<string, Promise<void>>();
  readonly #rooms = new SharedBufferPool(roomLimits);

  constructor({ dataset, pool }: EngineEvaluatorModules) {
    this.#dataset = dataset;
    this.#pool = pool;
    this.#segments = new OpenSegments(pool);
  }

  async *evaluate(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    let { first } = job;
    while (first <= job.last) {
      const plan = await this.#plan({ ...job, first });
      if (plan === undefined) return;
      try {
        first = (yield* this.#runUntilCut({ ...job, first }, plan)) ?? plan.last + 1;
      } finally {
        plan.release();
      }
    }
  }

  /** What to run over first; undefined if there is nothing in the range. */
  async #plan({ snapshot, first, last }: EvaluationJob): Promise<RunPlan | undefined> {
    const { segments, hot } = snapshot;
    const from = firstSegmentEndingAtOrAfter(snapshot, first);
    const sealed = segments
      .slice(from, from + sealedRunCountMax)
      .filter((segment) => segment.first.number <= last);
    if (sealed.length > 0) return this.#planSealed(sealed);
    const hotFrom = firstHotAtOrAfter(snapshot, first);
    const blocks = hot
      .slice(hotFrom, hotFrom + hotRunCountMax)
      .filter(({ header }) => header.number <= last);
    return blocks.length > 0 ? this.#planHot(blocks) : undefined;
  }

  /** Answers where to go on if it had to make room for others. */
  async *#runUntilCut(
    { selection, first, last, isUrgent, form, signal }: EvaluationJob,
    { keys, partCount, turn, hashAt, reportDamage }: RunPlan,
  ): AsyncGenerator<EvaluatedBlocks, number | undefined> {
    const range = { first, last };
    let next = first;
    // A line longer than the engine's buffer comes in several pieces; what is handed on is whole lines.
    let begun: RunPiece[] = [];
    const how = { partCount, turn, isUrgent, form, signal };
    const run = this.#pool.run({ selection, range, keys, ...how });
    try {
      for await (const piece of run) {
        if (piece.bytes.length > 0 || piece.deflated !== undefined) begun.push(piece);
        else piece.release();
        if (piece.coverage === undefined) continue;
        const { slot, endsWithLine, headerLine } = piece.coverage;
        const hash = hashAt(slot);
        const lastCovered = refOf(slot, hash instanceof Promise ? await hash : hash);
        next = slot + 1;
        const lines = begun.length === 0 ? null : joined(begun);
        begun = [];
        yield {
          piece: lines,
          lastCovered,
          endsWithLine,
          headerLine: () => new LinePiece(headerLine),
        };
      }
    } catch (error) {
      if (isCodedError(error, 'engine-run-cut')) return next;
      if (error instanceof SegmentFailure) reportDamage?.(error);
      throw error;
    } finally {
      for (const piece of begun) piece.release();
    }
    assert(begun.length === 0, 'the engine ends on a line');
    return undefined;
  }

  #planSealed(segments: readonly SealedSegment[]): RunPlan {
    const keyed = new Map(segments.map((segment) => [this.#useSealed(segment), segment]));
    const keys = [...keyed.keys()];
    const last = segments.at(-1)?.last.number ?? -1;
    const reportDamage = (failure: SegmentFailure) => {
      const segment = keyed.get(failure.key);
      if (segment !== undefined && isDamage(failure))
        this.#dataset.reportDamage(segment, failure.message);
    };
    const release = () => {
      for (const key of keys) this.#segments.leave(key);
    };
    return { keys, turn: 0, last, hashAt: this.#hashesOf(segments), reportDamage, release };
  }

  #useSealed(segment: SealedSegment): string {
    const key = `${this.#dataset.description.name}/${segment.id}`;
    // Also for an open segment, so that the cache knows that it is used.
    const remote = this.#dataset.remoteSegment?.(segment);
    if (!this.#segments.has(key)) this.#openSealed(key, segment, remote);
    this.#segments.use(key);
    return key;
  }

  #openSealed(key: string, segment: SealedSegment, remote: RemoteSegment | undefined): void {
    if (remote !== undefined) {
      this.#segments.open(key, remote.place, undefined, remote.fetch);
      return;
    }
    this.#segments.open(key, { kind: 'file', path: this.#dataset.segmentPath(segment) });
  }

  /** Of blocks in ascending order: the headers of a segment are read when its first block comes. */
  #hashesOf(segments: readonly SealedSegment[]): RunPlan['hashAt'] {
    let reached = -1;
    let hashes = new Map<number, BlockHash>();
    const readNext = async (slot: number) => {
      const segment = segments.find((one) => one.last.number >= slot);
      assert(segment !== undefined, 'a run stays in its segments');
      const headers = await this.#readHeaders(segment);
      hashes = new Map(headers.map(({ number, hash }) => [number as number, hash]));
      reached = segment.last.number;
      return hashes.get(slot);
    };
    return (slot) => (slot <= reached ? hashes.get(slot) : readNext(slot));
  }

  async #readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    try {
      return await this.#dataset.readHeaders(segment);
    } catch (error) {
      if (isDamage(error)) this.#dataset.reportDamage(segment, error.message);
      throw error;
    }
  }

  async #planHot(blocks: readonly HotBlock[]): Promise<RunPlan> {
    const keyOf = ({ payload, header }: HotBlock) =>
      `${this.#dataset.description.name}/hot ${payload} ${header.hash}`;
    const keys: string[] = [];
    const release = () => {
      for (const key of keys) this.#segments.leave(key);
    };
    try {
      for (const block of blocks) {
        const key = keyOf(block);
        // What others close meanwhile is opened again.
        while (!this.#segments.has(key)) await this.#open(key, block);
        this.#segments.use(key);
        keys.push(key);
      }
    } catch (error) {
      release();
      throw error;
    }
    const hashes = new Map(blocks.map(({ header }) => [header.number as number, header.hash]));
    // A block is one row group.
    const parts = { keys, partCount: keys.length, turn: this.#nextTurn++ };
    const last = blocks.at(-1)?.header.number ?? -1;
    return { ...parts, last, hashAt: (slot) => hashes.get(slot), release };
  }

  /** Opens a hot block from memory that all threads see, so that it is copied once; who asks meanwhile waits for the same. */
  #open(key: string, block: HotBlock): Promise<void> {
    const known = this.#opening.get(key);
    if (known !== undefined) return known;
    let room: Uint8Array | undefined;
    const allocate = (length: number) => {
      room = this.#rooms.take(length);
      return room ?? new Uint8Array(new SharedArrayBuffer(length));
    };
    const opening = this.#dataset.readHotBlock(block, allocate).then((bytes) => {
      const giveBack = () => this.#rooms.release(bytes.buffer as SharedArrayBuffer);
      this.#segments.open(
        key,
        { kind: 'memory', bytes },
        room === undefined ? undefined : giveBack,
      );
    });
    this.#opening.set(key, opening);
    const forget = () => this.#opening.delete(key);
    opening.then(forget, forget);
    return opening;
  }
}

function joined(pieces: readonly RunPiece[]): LinePiece {
  const release = () => {
    for (const piece of pieces) piece.release();
  };
  const parts = pieces.map(({ bytes }) => bytes);
  const deflated = pieces.flatMap(({ deflated }) => deflated ?? []);
  return LinePiece.ofLent(parts, { release, deflated });
}

function isDamage(error: unknown): error is CodedError {
  return isCodedError(error) && error.code.startsWith('segment-');
}

function refOf(slot: number, hash: BlockHash | undefined): BlockRef {
  assert(hash !== undefined, 'the engine covers blocks of the snapshot only');
  return { number: slot as Slot, hash };
}
