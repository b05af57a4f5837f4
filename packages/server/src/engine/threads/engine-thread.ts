/**
 * A thread that evaluates queries. It does every n-th part of each run. It usually gets the same row groups or segments again, so that
 * later queries find them in its cache. Between pieces it receives messages: a run can be cancelled, or wait for its reader.
 */
import { crc32 } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { Steps } from '@sluice/base/time-slices';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { deflateEncoder } from '@sluice/kernels/deflate-encoder';
import type { CachedLocation, CachedRangeFile } from '../../object-store/cached-range-file.ts';
import type { Selection } from '../../query/query.ts';
import type { RangeFile } from '../../storage/range-file.ts';
import { Engine } from '../engine.ts';
import { type LookupResults, mapSelection } from '../lookup/lookup.ts';
import { type ProbeFile, probeFiles } from '../lookup/probe-files.ts';
import type { GroupBatch, GroupParts, SegmentRun } from '../segment-run.ts';
import {
  aheadBytesFloor,
  aheadBytesMax,
  type Coverage,
  type DeflatedText,
  type FromThread,
  type LookupRequest,
  type PieceBatch,
  type ProbeRequest,
  type RunRequest,
  type SegmentLocation,
  type TextForm,
  type ToThread,
} from './engine-messages.ts';
import { FetchSignal } from './fetch-signal.ts';
import { BatchBuffers, PieceBatchWriter } from './piece-batch.ts';
import { ReadAhead } from './read-ahead.ts';

export interface EngineWorkerData {
  readonly thread: number;
  readonly threadCount: number;
  readonly cacheBytesMax: number;
  /** The memory of its batch buffers, shared with the pool. */
  readonly memory: SharedArrayBuffer;
  readonly fetchSignal: SharedArrayBuffer;
  /** Whether segments may be in an object store. */
  readonly readsStore: boolean;
}

type CachedFiles = typeof import('../../object-store/cached-range-file.ts');

const noBytes = new Uint8Array(0);

/** A thread works this long before it receives messages again, which is far less than the time in which a cancelled run must stop. */
const turnMs = 5;
/** A lookup runs this long before the thread receives messages, so that followers are not delayed. */
const lookupTurnMs = 1;

/** Segments of a run whose directories are fetched in advance. */
const aheadSegmentCount = 3;

interface BatchesOf {
  readonly state: RunState;
  readonly partOf: (group: number) => number;
  /** Whether the row group belongs to another thread or need not be read. */
  readonly isSkipped: (group: number) => boolean;
}

interface RunState {
  readonly id: number;
  readonly selection: Selection;
  readonly isUrgent: boolean;
  readonly form: TextForm;
  /** Pieces that are sent together. */
  readonly outbox: PieceBatchWriter;
  part: number;
  aheadBytes: number;
  /** Whether a complete line was sent. The first one is sent immediately. */
  hasWritten: boolean;
  isCancelled: boolean;
  /** The parts that the last row groups needed as a whole. The next ones probably need the same. */
  parts: GroupParts | undefined;
  /** Called when bytes were consumed or the run was cancelled. */
  wake: () => void;
}

export interface ThreadPort {
  on(event: 'message', receive: (message: ToThread) => void): unknown;
  postMessage(message: FromThread, moved?: ArrayBuffer[]): void;
}

export interface EngineThreadDependencies {
  readonly port: ThreadPort;
  readonly clock: Clock;
  readonly openFile: (path: string) => RangeFile;
  /** Present only where a store is configured. */
  readonly cachedFiles: CachedFiles | undefined;
}

export class EngineThread {
  readonly #engine: Engine;
  readonly #port: ThreadPort;
  readonly #clock: Clock;
  readonly #openFile: (path: string) => RangeFile;
  readonly #data: EngineWorkerData;
  readonly #locations = new Map<number, SegmentLocation>();
  readonly #files = new Map<number, RangeFile>();
  /** Segments whose bytes may have to be fetched first. */
  readonly #cached = new Map<number, CachedRangeFile>();
  readonly #fetchSignal: FetchSignal;
  #nextTicket = 1;
  readonly #runs = new Map<number, RunState>();
  readonly #selections = new Map<number, Selection>();
  /** The number of runs that may still read each segment. */
  readonly #readers = new Map<number, number>();
  /** Segments to close once no run may read them. */
  readonly #closing = new Set<number>();
  readonly #buffers: BatchBuffers;
  #turnStartMs = 0;

  readonly #cachedFiles: CachedFiles | undefined;

  constructor(data: EngineWorkerData, dependencies: EngineThreadDependencies) {
    const { port } = dependencies;
    this.#port = port;
    this.#clock = dependencies.clock;
    this.#openFile = dependencies.openFile;
    this.#cachedFiles = dependencies.cachedFiles;
    this.#data = data;
    this.#buffers = new BatchBuffers(data.memory);
    this.#fetchSignal = new FetchSignal(data.fetchSignal);
    this.#engine = new Engine({ cacheBytesMax: data.cacheBytesMax });
    port.on('message', (message) => this.#receive(message));
    this.#send({ kind: 'started' });
  }

  #receive(message: ToThread): void {
    switch (message.kind) {
      case 'open':
        this.#locations.set(message.segment, message.location);
        return;
      case 'close':
        this.#closing.add(message.segment);
        this.#closeUnused();
        return;
      case 'select':
        this.#selections.set(message.number, message.selection);
        return;
      case 'forget':
        this.#selections.clear();
        return;
      case 'idls':
        this.#engine.useIdls(new IdlRegistry(message.idls));
        return;
      case 'run':
        void this.#run(message.run);
        return;
      case 'lookup':
        void this.#runLookup(message);
        return;
      case 'probe':
        void this.#probe(message);
        return;
      case 'taken': {
        const run = this.#runs.get(message.id);
        if (run === undefined) return;
        run.aheadBytes -= message.bytes;
        run.wake();
        return;
      }
      case 'cancel': {
        const run = this.#runs.get(message.id);
        if (run === undefined) return;
        run.isCancelled = true;
        run.wake();
        return;
      }
    }
  }

  async #run(request: RunRequest): Promise<void> {
    const selection = this.#selectionOf(request.selection);
    const state: RunState = {
      id: request.id,
      selection,
      isUrgent: request.isUrgent,
      form: request.form,
      outbox: new PieceBatchWriter(this.#buffers),
      part: 0,
      aheadBytes: 0,
      hasWritten: false,
      isCancelled: false,
      parts: undefined,
      wake: () => {},
    };
    this.#runs.set(request.id, state);
    for (const used of request.segments) this.#enter(used);
    let segment: number | undefined;
    let part = 0;
    try {
      // An idle thread starts a new turn.
      if (this.#runs.size === 1) this.#turnStartMs = this.#clock.nowMs();
      for (segment of request.segments) {
        this.#openAhead(request, segment);
        part =
          request.partBlocksMin === Infinity && !this.#isMine(part, request)
            ? part + 1
            : await this.#runSegment(request, segment, part, state);
      }
      this.#sendEnd(state);
    } catch (error) {
      // The text before the failure is valid.
      this.#sendPieces(state);
      const position = { segment, part: Math.max(part, state.part) };
      this.#send({ kind: 'failed', id: request.id, ...position, ...describeFault(error) });
    } finally {
      this.#runs.delete(request.id);
      for (const used of request.segments) this.#leave(used);
      this.#closeUnused();
    }
  }

  #selectionOf(number: number): Selection {
    const selection = this.#selections.get(number);
    assert(selection !== undefined, 'the pool sends a selection before it is used');
    return selection;
  }

  async #runSegment(
    request: RunRequest,
    segment: number,
    firstPart: number,
    state: RunState,
  ): Promise<number> {
    const key = this.#open(segment);
    const { range, lastSegment } = request;
    const endsCoverage = segment === lastSegment;
    const run = this.#engine.begin(key, state.selection, { range, endsCoverage });
    const parts = run.divide(request.partBlocksMin);
    const partOf = (group: number) => firstPart + (parts[group] ?? 0);
    const isSkipped = (group: number) => !this.#isMine(partOf(group), request) || run.skips(group);
    const next = (first: number) => this.#nextBatch(run, first, { partOf, isSkipped, state });
    try {
      const ahead = this.#readAhead(segment, run, isSkipped);
      ahead?.advance(0, state.parts ?? run.certainParts);
      for (let batch = next(0); batch !== undefined; batch = next(batch.end)) {
        if (state.isCancelled) break;
        state.part = partOf(batch.first);
        await this.#runBatch(run, batch, state);
        state.parts = run.lastParts ?? state.parts;
        if (state.parts !== undefined) ahead?.advance(batch.end, state.parts);
        await this.#takeTurns(state);
      }
    } finally {
      run.release();
    }
    return partOf(run.groupCount - 1) + 1;
  }

  /** Returns the next row groups that this thread reads together, from group `first` on. */
  #nextBatch(
    run: SegmentRun,
    first: number,
    { partOf, isSkipped, state }: BatchesOf,
  ): GroupBatch | undefined {
    let start = first;
    while (start < run.groupCount && isSkipped(start)) start++;
    if (start === run.groupCount) return undefined;
    let end = start + 1;
    while (end < run.groupCount && partOf(end) === partOf(start)) end++;
    // The first line does not wait for more than one group.
    return run.nextBatch(start, state.hasWritten ? undefined : 0, end);
  }

  #isMine(part: number, { turn }: RunRequest): boolean {
    return (part + turn) % this.#data.threadCount === this.#data.thread;
  }

  async #runBatch(run: SegmentRun, batch: GroupBatch, state: RunState): Promise<void> {
    const isFirst = !state.isUrgent && !state.hasWritten;
    const { part } = state;
    for (const piece of isFirst ? run.firstPieces(batch) : run.batchPieces(batch)) {
      const coverage = run.isAtLineEnd ? coverageOf(run, run.lastLineBlock) : undefined;
      this.#putOut(state, part, piece, coverage);
      if (isFirst && !state.hasWritten && run.isAtLineEnd) this.#sendPieces(state);
      state.hasWritten ||= run.isAtLineEnd;
      await this.#takeTurns(state);
      if (state.isCancelled) return;
    }
    const last = run.lastCoveredBlock(batch);
    if (last < 0 || last === run.lastLineBlock) return;
    this.#putOut(state, part, noBytes, coverageOf(run, last));
  }

  #putOut(state: RunState, part: number, text: Uint8Array, coverage: Coverage | undefined): void {
    const { form, outbox } = state;
    const deflated = form === 'plain' || text.length === 0 ? undefined : deflateText(text);
    const plain = form === 'deflated' ? noBytes : text;
    state.aheadBytes += plain.length + (deflated?.bytes.length ?? 0);
    for (const batch of outbox.add(part, plain, coverage, deflated))
      this.#sendBatch(state.id, batch);
  }

  #sendPieces({ id, outbox }: RunState): void {
    const batch = outbox.take();
    if (batch !== undefined) this.#sendBatch(id, batch);
  }

  #sendEnd({ id, outbox }: RunState): void {
    const batch = outbox.take();
    if (batch === undefined) this.#send({ kind: 'end', id });
    else this.#sendBatch(id, batch, true);
  }

  #sendBatch(id: number, { buffer, table }: PieceBatch, isEnd = false): void {
    const moved = [table.buffer as ArrayBuffer];
    if (typeof buffer !== 'number') moved.push(buffer.buffer as ArrayBuffer);
    this.#port.postMessage({ kind: 'pieces', id, isEnd, buffer, table }, moved);
  }

  /** Receives messages when the turn is over, and waits while the reader is too far behind. */
  async #takeTurns(state: RunState): Promise<void> {
    if (!state.isUrgent && this.#clock.nowMs() - this.#turnStartMs > turnMs) {
      this.#sendPieces(state);
      await new Promise((resolve) => setImmediate(resolve));
      this.#turnStartMs = this.#clock.nowMs();
    }
    while (this.#isTooFarAhead(state) && !state.isCancelled) {
      this.#sendPieces(state);
      await new Promise<void>((resolve) => {
        state.wake = resolve;
      });
    }
  }

  #isTooFarAhead({ aheadBytes }: RunState): boolean {
    return aheadBytes > Math.max(aheadBytesFloor, aheadBytesMax / this.#runs.size);
  }

  /** Returns the engine's key of the segment. */
  #open(segment: number): string {
    const key = String(segment);
    if (this.#engine.has(key)) return key;
    const location = this.#locations.get(segment);
    assert(location !== undefined, 'the pool opens a segment before it runs on it');
    if (location.kind === 'memory') {
      this.#engine.open(key, location.bytes);
      return key;
    }
    // A file is still open if its parts could not be fetched in an earlier attempt.
    const file =
      this.#files.get(segment) ??
      (location.kind === 'file'
        ? this.#openFile(location.path)
        : this.#openCached(segment, location));
    this.#files.set(segment, file);
    if (location.kind === 'cached') this.#cached.get(segment)?.fetchOpening();
    this.#engine.open(key, file);
    return key;
  }

  #openCached(segment: number, location: CachedLocation): CachedRangeFile {
    assert(this.#cachedFiles !== undefined, 'the pool has a cache for segments in a store');
    const file = new this.#cachedFiles.CachedRangeFile(location, {
      fetchNow: (ranges) => {
        const ticket = this.#nextTicket++;
        this.#send({ kind: 'fetch', segment, ranges, ticket });
        this.#fetchSignal.wait(ticket);
      },
      fetchAhead: (ranges) => this.#send({ kind: 'fetch', segment, ranges, ticket: undefined }),
    });
    this.#cached.set(segment, file);
    return file;
  }

  /** Fetches the directories of the next segments of a run, so that one does not wait for the other. */
  #openAhead({ segments }: RunRequest, segment: number): void {
    const at = segments.indexOf(segment) + 1;
    for (const next of segments.slice(at, at + aheadSegmentCount)) {
      const location = this.#locations.get(next);
      if (location?.kind !== 'cached' || this.#cached.has(next)) continue;
      const ranges = this.#cachedFiles?.missingOpening(location) ?? [];
      if (ranges.length > 0)
        this.#send({ kind: 'fetch', segment: next, ranges, ticket: undefined });
    }
  }

  /** Returns undefined for a local segment. */
  #readAhead(
    segment: number,
    run: SegmentRun,
    isSkipped: BatchesOf['isSkipped'],
  ): ReadAhead | undefined {
    const file = this.#cached.get(segment);
    if (file === undefined) return undefined;
    return new ReadAhead({
      groupCount: run.groupCount,
      isSkipped,
      rangesOf: (group, parts) => run.rangesOf(group, parts),
      dictionariesOf: (parts) => run.dictionariesOf(parts),
      missing: (ranges) => file.missing(ranges),
      fetchAhead: (ranges) => file.fetchAhead(ranges),
    });
  }

  async #runLookup({ id, segments, positions, ...request }: LookupRequest): Promise<void> {
    const lookup = mapSelection(request.lookup, (number) => this.#selectionOf(number));
    for (const used of segments) this.#enter(used);
    const results: LookupResults[keyof LookupResults][] = [];
    let segment: number | undefined;
    try {
      for (segment of segments)
        results.push(await this.#runSteps(this.#engine.lookUp(this.#open(segment), lookup)));
      this.#send({ kind: 'lookup-done', id, positions, results });
    } catch (error) {
      this.#send({ kind: 'lookup-failed', id, segment, ...describeFault(error) });
    } finally {
      for (const used of segments) this.#leave(used);
      this.#closeUnused();
    }
  }

  async #probe({ id, signature, files, positions }: ProbeRequest): Promise<void> {
    const open = (file: ProbeFile) =>
      file.kind === 'file' ? this.#openFile(file.path) : this.#openPresent(file);
    const results = await this.#runSteps(probeFiles(signature, files, open));
    this.#send({ kind: 'lookup-done', id, positions, results });
  }

  /** Opens a cache file for reads of the ranges that it has. Evicted ranges make the read fail. */
  #openPresent(location: CachedLocation): CachedRangeFile {
    assert(this.#cachedFiles !== undefined, 'the pool was created for segments in a store');
    const refuse = () => {
      throw new CodedError('cache-too-small');
    };
    return new this.#cachedFiles.CachedRangeFile(location, {
      fetchNow: refuse,
      fetchAhead: () => undefined,
    });
  }

  /** Runs the steps, and receives messages and lets other runs work whenever a turn is over. */
  async #runSteps<Result>(steps: Steps<Result>): Promise<Result> {
    for (;;) {
      if (this.#clock.nowMs() - this.#turnStartMs > lookupTurnMs) {
        await new Promise((resolve) => setImmediate(resolve));
        this.#turnStartMs = this.#clock.nowMs();
      }
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  #enter(segment: number): void {
    this.#readers.set(segment, (this.#readers.get(segment) ?? 0) + 1);
  }

  #leave(segment: number): void {
    const readers = (this.#readers.get(segment) ?? 0) - 1;
    if (readers > 0) this.#readers.set(segment, readers);
    else this.#readers.delete(segment);
  }

  #closeUnused(): void {
    for (const segment of this.#closing) {
      if (this.#readers.has(segment)) continue;
      const key = String(segment);
      if (this.#engine.has(key)) this.#engine.close(key);
      this.#files.get(segment)?.close();
      this.#files.delete(segment);
      this.#cached.delete(segment);
      this.#locations.delete(segment);
      this.#closing.delete(segment);
      this.#send({ kind: 'closed', segment });
    }
  }

  #send(message: FromThread): void {
    this.#port.postMessage(message);
  }
}

function describeFault(error: unknown) {
  const message = error instanceof Error ? error.message : String(error);
  if (!isCodedError(error)) return { code: undefined, detail: {}, message };
  return { code: error.code, detail: error.detail, message };
}

function coverageOf(run: SegmentRun, block: number): Coverage {
  return {
    slot: run.slotOf(block),
    hash: run.hashOf(block),
    headerLine: run.headerLine(block),
    endsWithLine: block === run.lastLineBlock,
    candidateShare: run.candidateShare,
  };
}

/** Returns the compressed text. Its bytes are a view that the next call overwrites. */
function deflateText(text: Uint8Array): DeflatedText {
  return { bytes: deflateEncoder().encode(text), crc: crc32(text), plainLength: text.length };
}
