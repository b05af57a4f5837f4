import { CodedError } from '@sluice/base/errors';
import type { BlockRef } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { ClosingRecord } from '@sluice/protocol/closing-record';
import type { DatasetReader, SnapshotLease } from '../dataset/dataset-reader.ts';
import type { Query } from '../query/query.ts';
import { decideStart, type StartDecision, type StreamRange } from './decide-start.ts';
import { LineStream, type StreamDependencies } from './line-stream.ts';

/** The heads of the snapshot with which a response began. */
export interface StreamHeads {
  readonly head: BlockRef | null;
  readonly finalized: BlockRef | null;
}

export interface OpenStreamOptions {
  readonly query: Query;
  readonly finalizedOnly: boolean;
  /** Ends the response after a whole line. Before the first line the request gets 503. */
  readonly signal: AbortSignal;
  /** Whether the pieces are sent compressed, so that they are compressed in advance. */
  readonly isDeflated?: boolean;
}

/** The outcome of opening a stream, which the caller converts into a status. */
export type OpenedStream =
  | { readonly kind: 'lines'; readonly heads: StreamHeads; readonly lines: LineStream }
  /** A bounded range in which all slots were skipped. */
  | { readonly kind: 'empty'; readonly heads: StreamHeads; readonly closing: ClosingRecord }
  | { readonly kind: 'above-data'; readonly heads: StreamHeads }
  | { readonly kind: 'below-start'; readonly startBlock: Slot }
  | { readonly kind: 'conflict'; readonly previousBlocks: readonly BlockRef[] }
  | { readonly kind: 'starting' }
  | { readonly kind: 'closing' };

/** Finds the start of a request, waits for it for a moment if necessary, and reads the first piece before the status is sent. */
export async function openStream(
  options: OpenStreamOptions,
  dependencies: StreamDependencies,
): Promise<OpenedStream> {
  const { query, finalizedOnly, signal, isDeflated = false } = options;
  const { fromBlock, toBlock, parentBlockHash } = query;
  const range: StreamRange = { fromBlock, toBlock, parentBlockHash, finalizedOnly };
  const { lease, decision } = await judgeAndWait(range, dependencies, signal);
  const { head, finalized } = lease.snapshot;
  // Clients of this dialect reject blocks of a finalized response that are above the finalized head in its headers.
  const endsAtFinalized = finalizedOnly && query.dialect === 'solana';
  const heads: StreamHeads = { head: endsAtFinalized ? finalized : head, finalized };
  if (decision.kind === 'scan' && !signal.aborted) {
    const selection = dependencies.shared.shareable(query);
    const last = endsAtFinalized ? Math.min(toBlock ?? Infinity, finalized?.number ?? -1) : toBlock;
    const covered = { ...range, toBlock: last };
    const lines = new LineStream({ selection, range: covered, signal, isDeflated }, dependencies);
    const end = await lines.start(lease);
    if (end === null) return { kind: 'lines', heads, lines };
    if (end !== 'complete') return { kind: 'closing' };
    return { kind: 'empty', heads, closing: lines.closingRecord(end) };
  }
  lease.release();
  if (decision.kind === 'above-data') return { kind: 'above-data', heads };
  return decision.kind === 'scan' ? { kind: 'closing' } : decision;
}

interface Judged {
  readonly lease: SnapshotLease;
  readonly decision: StartDecision | { readonly kind: 'closing' };
}

async function judgeAndWait(
  range: StreamRange,
  dependencies: StreamDependencies,
  signal: AbortSignal,
): Promise<Judged> {
  const { dataset, clock, followers, limits, isFed } = dependencies;
  const deadlineMs = clock.nowMs() + limits.waitMsMax;
  for (;;) {
    const judged = await judgeConfirmed(range, dataset);
    if (judged.decision.kind !== 'above-data') return judged;
    if (signal.aborted) return { lease: judged.lease, decision: { kind: 'closing' } };
    if (!isFed || clock.nowMs() >= deadlineMs) return judged;
    judged.lease.release();
    if (followers.count >= limits.waiterCountMax) throw new CodedError('waiters-full');
    const { version } = judged.lease.snapshot;
    await followers.wait({ version, deadlineMs, signal });
  }
}

/**
 * This process may lag behind others and not know the fork that made a hash valid. So a conflict is checked again with a state at least as
 * new as that of the other processes. If this process cannot get such a state, the conflict is not certain, and the request waits.
 */
async function judgeConfirmed(range: StreamRange, dataset: DatasetReader): Promise<Judged> {
  const judged = await judgeNewest(range, dataset);
  if (judged.decision.kind !== 'conflict' || dataset.confirm === undefined) return judged;
  judged.lease.release();
  const isConfirmed = await dataset.confirm();
  const again = await judgeNewest(range, dataset);
  if (isConfirmed || again.decision.kind !== 'conflict') return again;
  return { ...again, decision: { kind: 'above-data' } };
}

async function judgeNewest(range: StreamRange, dataset: DatasetReader): Promise<Judged> {
  const lease = dataset.acquire();
  try {
    return { lease, decision: await decideStart(lease.snapshot, range, dataset) };
  } catch (error) {
    lease.release();
    throw error;
  }
}
