import { assert } from '../base/assert.ts';
import { type CodedError, isCodedError } from '../base/errors.ts';
import { SharedRooms } from '../base/shared-rooms.ts';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import { firstHotAtOrAfter, firstSegmentEndingAtOrAfter } from '../chain/find-blocks.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { RunPiece } from '../engine/engine-messages.ts';
import type { EnginePool } from '../engine/engine-pool.ts';
import type { BlockRef } from '../ledger/block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { LinePiece } from './line-piece.ts';
import { OpenSegments } from './open-segments.ts';

export interface EngineEvaluatorModules {
  readonly dataset: DatasetReader;
  /** Shared with other datasets. */
  readonly pool: EnginePool;
}

/** Hot blocks evaluated by one run: enough to keep the threads busy, few enough to read ahead. */
const hotRunCountMax = 8;

/** Memory for hot blocks: those that are kept open, and those that are read by as many as may be. */
const roomLimits = { countMax: 1_024, bytesMax: 256 << 20, granuleBytes: 1 << 16 };

/** What one run of the pool goes over, and how to name the blocks in it. */
interface RunPlan {
  readonly keys: readonly string[];
  readonly partCount?: number | undefined;
  readonly turn: number;
  readonly hashAt: (slot: number) => BlockHash | undefined;
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
  readonly #rooms = new SharedRooms(roomLimits);

  constructor({ dataset, pool }: EngineEvaluatorModules) {
    this.#dataset = dataset;
    this.#pool = pool;
    this.#segments = new OpenSegments(pool);
  }

  async *evaluate(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    const { snapshot, first, last } = job;
    const { segments, hot } = snapshot;
    for (let i = firstSegmentEndingAtOrAfter(snapshot, first); i < segments.length; i++) {
      const segment = segments[i];
      if (segment === undefined || segment.first.number > last) return;
      try {
        yield* this.#run(job, await this.#planSegment(segment));
      } catch (error) {
        if (isDamage(error)) this.#dataset.reportDamage(segment, error.message);
        throw error;
      }
    }
    let from = firstHotAtOrAfter(snapshot, first);
    while (from < hot.length) {
      const blocks = hot
        .slice(from, from + hotRunCountMax)
        .filter(({ header }) => header.number <= last);
      if (blocks.length === 0) return;
      yield* this.#run(job, await this.#planHot(blocks));
      from += blocks.length;
    }
  }

  async *#run(job: EvaluationJob, plan: RunPlan): AsyncGenerator<EvaluatedBlocks> {
    let first: number | undefined = job.first;
    try {
      while (first !== undefined) first = yield* this.#runUntilCut({ ...job, first }, plan);
    } finally {
      plan.release();
    }
  }

  /** Answers where to go on if it had to make room for others. */
  async *#runUntilCut(
    { selection, first, last, isUrgent, form, signal }: EvaluationJob,
    { keys, partCount, turn, hashAt }: RunPlan,
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
        next = slot + 1;
        const lines = begun.length === 0 ? null : joined(begun);
        begun = [];
        yield {
          piece: lines,
          lastCovered: refOf(slot, hashAt(slot)),
          endsWithLine,
          headerLine: () => new LinePiece(headerLine),
        };
      }
    } catch (error) {
      if (isCodedError(error, 'engine-run-cut')) return next;
      throw error;
    } finally {
      for (const piece of begun) piece.release();
    }
    assert(begun.length === 0, 'the engine ends on a line');
    return undefined;
  }

  async #planSegment(segment: Parameters<DatasetReader['segmentPath']>[0]): Promise<RunPlan> {
    const headers = await this.#dataset.readHeaders(segment);
    const hashes = new Map(headers.map(({ number, hash }) => [number as number, hash]));
    const key = `${this.#dataset.description.name}/${segment.id}`;
    const path = this.#dataset.segmentPath(segment);
    if (!this.#segments.has(key)) this.#segments.open(key, { kind: 'file', path });
    this.#segments.use(key);
    const hashAt = (slot: number) => hashes.get(slot);
    return { keys: [key], turn: 0, hashAt, release: () => this.#segments.leave(key) };
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
    return { ...parts, hashAt: (slot) => hashes.get(slot), release };
  }

  /** Opens a hot block from memory that all threads see, so that it is copied once; who asks meanwhile waits for the same. */
  #open(key: string, block: HotBlock): Promise<void> {
    const known = this.#opening.get(key);
    if (known !== undefined) return known;
    const opening = this.#dataset.readHotBlock(block).then((read) => {
      const room = this.#rooms.take(read.length);
      const bytes = room ?? new Uint8Array(new SharedArrayBuffer(read.length));
      bytes.set(read);
      const giveBack = () => this.#rooms.put(bytes.buffer as SharedArrayBuffer);
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
