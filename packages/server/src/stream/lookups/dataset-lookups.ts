/**
 * The lookups of one dataset: requests for a block, a transaction, an account or a range that are answered from the indexes of one
 * snapshot, without a stream.
 */

import { CodedError } from '@sluice/base/errors';
import type {
  Activity,
  Coverage,
  Estimate,
  RangeDigest,
  RecordCount,
} from '@sluice/protocol/lookup-results';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { segmentsDownFrom } from '../../chain/segment-lists.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import type { BlockRange } from '../../engine/segment-run.ts';
import type { EnginePool } from '../../engine/threads/engine-pool.ts';
import type { Query } from '../../query/query.ts';
import { hashSignatureKey } from '../../segment/history/key-hash.ts';
import type { BlockEvaluator } from '../block-evaluator.ts';
import type { DatasetSegments } from '../dataset-segments.ts';
import { FinalizedHeadEvaluator, fillFinalizedHead } from '../finalized-head-evaluator.ts';
import { openHistoryFilter } from '../history-filter.ts';
import { type ActivityRequest, countActivity } from './count-activity.ts';
import { countQuery } from './count-query.ts';
import { describeCoverage } from './describe-coverage.ts';
import type { DigestFiles } from './digest-files.ts';
import { estimateQuery } from './estimate-query.ts';
import {
  type AccountRequest,
  type AccountTransactions,
  listAccountTransactions,
} from './list-account-transactions.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import { RangeDigests } from './range-digests.ts';
import { SegmentLookups } from './segment-lookups.ts';
import { WHOLE_BLOCK, WHOLE_TRANSACTION } from './selections.ts';
import { SignatureCandidates } from './signature-candidates.ts';
import type { SnapshotPart } from './snapshot-parts.ts';

export interface DatasetLookupsDependencies {
  readonly dataset: DatasetReader;
  readonly evaluator: BlockEvaluator;
  readonly segments: DatasetSegments;
  readonly pool: EnginePool;
  /** Where digests are stored. */
  readonly digestFiles?: DigestFiles | undefined;
}

/** The result of a lookup, and the state of the chain that it was read from. */
export interface LookupResult<Value> {
  readonly value: Value;
  readonly snapshot: ChainSnapshot;
}

export class DatasetLookups {
  readonly digests: RangeDigests;
  readonly #dataset: DatasetReader;
  readonly #evaluator: BlockEvaluator;
  readonly #lookups: SegmentLookups;
  readonly #candidates: SignatureCandidates;

  constructor(dependencies: DatasetLookupsDependencies) {
    this.#dataset = dependencies.dataset;
    this.#evaluator = new FinalizedHeadEvaluator(dependencies.evaluator);
    this.#lookups = new SegmentLookups(dependencies);
    this.#candidates = new SignatureCandidates(dependencies);
    const { dataset, digestFiles: files } = dependencies;
    this.digests = new RangeDigests({ dataset, lookups: this.#lookups, files });
  }

  /** Returns the complete line of a block as bytes. Throws a coded error for a slot that is not stored or was skipped. */
  block(slot: number, signal: AbortSignal): Promise<LookupResult<Uint8Array>> {
    return this.#withSnapshot(async (snapshot) => {
      const { head, start } = snapshot;
      if (start !== null && slot < start)
        throw new CodedError('slot-below-start', { path: 'slot', allowed: `${start} or more` });
      if (head === null || slot > head.number) throw new CodedError('slot-above-head');
      const line = await this.#readBlock(slot, snapshot, signal);
      if (line.length === 0) throw new CodedError('slot-skipped');
      return line;
    });
  }

  /** Returns the line of a transaction's block with only this transaction and its records. */
  transaction(signature: Uint8Array, signal: AbortSignal): Promise<LookupResult<string>> {
    return this.#withSnapshot(async (snapshot) => {
      for await (const parts of this.#listCandidates(snapshot, signature, signal)) {
        const line = await this.#findTransaction(parts, signature, signal);
        if (line !== undefined) return fillFinalizedHead(line, snapshot);
      }
      throw new CodedError('transaction-unknown', { path: 'signature' });
    });
  }

  /** Returns the hot blocks, and the segments that can have the signature, newest first, in batches. */
  async *#listCandidates(
    snapshot: ChainSnapshot,
    signature: Uint8Array,
    signal: AbortSignal,
  ): AsyncGenerator<readonly SnapshotPart[]> {
    yield snapshot.hot.map((block): SnapshotPart => ({ kind: 'hot', block })).reverse();
    const conditions = [[[hashSignatureKey(signature)]]];
    const mayHave = await openHistoryFilter(conditions, snapshot, this.#dataset);
    const { readList } = this.#dataset;
    const newestFirst = segmentsDownFrom(snapshot, Infinity, readList, mayHave);
    for await (const found of this.#candidates.find(newestFirst, signature, signal))
      yield found.map((segment): SnapshotPart => ({ kind: 'sealed', segment }));
  }

  /** Returns the line of a transaction with its records, or undefined if none of the parts has it. */
  async #findTransaction(
    parts: readonly SnapshotPart[],
    signature: Uint8Array,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { batchCountMax } = LOOKUP_LIMITS;
    for (let start = 0; start < parts.length; start += batchCountMax) {
      const batch = parts.slice(start, start + batchCountMax);
      const lookup = { kind: 'signature', signature, selection: WHOLE_TRANSACTION } as const;
      const line = (await this.#lookups.run(batch, lookup, signal)).flat()[0];
      if (line !== undefined) return line;
    }
    return undefined;
  }

  accountTransactions(
    request: AccountRequest,
    signal: AbortSignal,
  ): Promise<LookupResult<AccountTransactions>> {
    return this.#withSnapshot(async (snapshot) => {
      const { lines, next } = await listAccountTransactions(
        request,
        snapshot,
        { dataset: this.#dataset, lookups: this.#lookups },
        signal,
      );
      return { lines: lines.map((line) => fillFinalizedHead(line, snapshot)), next };
    });
  }

  /** Counts activity in a range of slots. A missing bound defaults to the bound of the dataset. */
  activity(request: PartialActivityRequest, signal: AbortSignal): Promise<LookupResult<Activity>> {
    return this.#withSnapshot(async (snapshot) => {
      const { from = snapshot.start ?? 0, limit } = request;
      const { to = Math.max(from, snapshot.head?.number ?? 0) } = request;
      checkStart(from, 'from', snapshot);
      const range = rangeOf(from, to);
      const dependencies = { dataset: this.#dataset, lookups: this.#lookups };
      return countActivity({ range, limit }, snapshot, dependencies, signal);
    });
  }

  /** Describes which slots of a range the dataset has. A missing bound defaults to the bound of the dataset. */
  coverage(request: SlotBounds): Promise<LookupResult<Coverage>> {
    return this.#withSnapshot(async (snapshot) => {
      const { from = snapshot.start ?? 0 } = request;
      const { to = Math.max(from, snapshot.head?.number ?? 0) } = request;
      return describeCoverage(rangeOf(from, to), snapshot, this.#dataset);
    });
  }

  /** Returns the digest of the final blocks of a range. A missing bound defaults to the bound of the final part of the dataset. */
  digest(request: SlotBounds, signal: AbortSignal): Promise<LookupResult<RangeDigest>> {
    return this.#withSnapshot(async (snapshot) => {
      const { from = snapshot.start ?? 0 } = request;
      const { to = Math.max(from, snapshot.finalized?.number ?? 0) } = request;
      checkStart(from, 'from', snapshot);
      return this.digests.digest(rangeOf(from, to), snapshot, signal);
    });
  }

  estimate(query: Query, signal: AbortSignal): Promise<LookupResult<Estimate>> {
    return this.#withSnapshot(async (snapshot) => {
      checkStart(query.fromBlock, 'fromBlock', snapshot);
      return estimateQuery(query, snapshot, this.#lookups, signal);
    });
  }

  /** Counts the records that a query selects, from the start of its range. */
  count(query: Query, signal: AbortSignal): Promise<LookupResult<RecordCount>> {
    return this.#withSnapshot(async (snapshot) => {
      checkStart(query.fromBlock, 'fromBlock', snapshot);
      if (query.fromBlock > (snapshot.head?.number ?? -1)) throw new CodedError('slot-above-head');
      const dependencies = { dataset: this.#dataset, lookups: this.#lookups };
      return countQuery(query, snapshot, dependencies, signal);
    });
  }

  async #withSnapshot<Value>(
    find: (snapshot: ChainSnapshot) => Promise<Value>,
  ): Promise<LookupResult<Value>> {
    const { snapshot, release } = this.#dataset.acquire();
    try {
      if (snapshot.start === null) throw new CodedError('dataset-starting');
      return { value: await find(snapshot), snapshot };
    } finally {
      release();
    }
  }

  async #readBlock(
    slot: number,
    snapshot: ChainSnapshot,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const job = { selection: WHOLE_BLOCK, snapshot, first: slot, last: slot };
    const how = { isUrgent: false, form: 'plain', signal } as const;
    const pieces: Uint8Array[] = [];
    for await (const { piece } of this.#evaluator.evaluate({ ...job, ...how })) {
      if (piece === null) continue;
      pieces.push(Buffer.concat(piece.parts));
      piece.release();
    }
    return Buffer.concat(pieces);
  }
}

export interface SlotBounds {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export type PartialActivityRequest = Pick<ActivityRequest, 'limit'> & SlotBounds;

function rangeOf(from: number, to: number): BlockRange {
  if (to >= from) return { first: from, last: to };
  throw new CodedError('parameter-invalid', { path: 'to', allowed: `${from} or more` });
}

function checkStart(slot: number, path: string, { start }: ChainSnapshot): void {
  if (start === null || slot >= start) return;
  throw new CodedError('range-unavailable', { path, found: slot, allowed: `${start} or more` });
}
