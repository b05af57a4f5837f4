/**
 * Lookups: small requests whose results come from the indexes of a segment. Each runs in an engine thread, in steps, so that it does not delay
 * queries on the same thread.
 */
import type { Steps } from '@sluice/base/time-slices';
import type { Selection } from '../../query/query.ts';
import type { EngineKernel } from '../engine-kernel.ts';
import type { EngineSegment } from '../engine-segment.ts';
import type { BlockRange, RunOptions, SegmentRun } from '../segment-run.ts';
import {
  type ActivityLookup,
  countActivity,
  listShortPrefixes,
  type SegmentActivity,
} from './count-activity.ts';
import { type CountLookup, countRows } from './count-rows.ts';
import { type DigestLookup, digestBlocks } from './digest-blocks.ts';
import { estimateSegment, type SegmentEstimate } from './estimate-segment.ts';
import { findMentions, type Mention, type MentionsLookup } from './find-mentions.ts';
import { findSignature } from './find-signature.ts';
import type { RowCount } from './row-counter.ts';

/** A lookup on its way to a thread has the number of its selection. */
export type Lookup<S = Selection> =
  /** The line of the transaction with the signature, which is 64 bytes long. */
  | { readonly kind: 'signature'; readonly signature: Uint8Array; readonly selection: S }
  | MentionsLookup
  /** The line of each listed transaction, in the order of the list. */
  | {
      readonly kind: 'records';
      readonly selection: S;
      readonly transactions: readonly number[];
    }
  /** The programs whose classes have prefixes shorter than 8 bytes, with that length. */
  | { readonly kind: 'prefixes' }
  | ActivityLookup
  | CountLookup<S>
  | DigestLookup<S>
  | { readonly kind: 'estimate'; readonly selection: S; readonly range: BlockRange };

export function mapSelection<From, To>(
  lookup: Lookup<From>,
  map: (selection: From) => To,
): Lookup<To> {
  return 'selection' in lookup ? { ...lookup, selection: map(lookup.selection) } : lookup;
}

export interface LookupResults {
  /** At most one line. */
  readonly signature: readonly string[];
  readonly mentions: readonly Mention[];
  readonly records: readonly string[];
  readonly prefixes: ReadonlyMap<string, number>;
  readonly activity: SegmentActivity;
  readonly count: RowCount;
  readonly digest: Uint8Array;
  readonly estimate: SegmentEstimate;
}

export type LookupResult<L extends Lookup> = LookupResults[L['kind']];

export interface LookupContext {
  readonly open: EngineSegment;
  readonly kernel: EngineKernel;
  /** Writes the line of a selection, limited to one transaction of the segment. */
  readonly write: (selection: Selection, transaction: number) => Iterable<Uint8Array>;
  /** Plans a query on the segment. The run must be released. */
  readonly begin: (selection: Selection, options: RunOptions) => SegmentRun;
}

export function* runLookup(
  lookup: Lookup,
  context: LookupContext,
): Steps<LookupResults[keyof LookupResults]> {
  switch (lookup.kind) {
    case 'signature':
      return yield* findTransaction(lookup, context);
    case 'mentions':
      return findMentions(lookup, context.open);
    case 'records':
      return yield* writeRecords(lookup.selection, lookup.transactions, context);
    case 'prefixes':
      return listShortPrefixes(context.open);
    case 'activity':
      return yield* countActivity(lookup, context.open);
    case 'count':
      return yield* countRows(lookup, context.open, context.begin);
    case 'digest':
      return yield* digestBlocks(lookup, context.open, context.begin);
    case 'estimate':
      return estimateSegment(lookup, context.open);
  }
}

/** Finds and writes a transaction in one lookup: each lookup may run in another thread, which would open the segment again. */
function* findTransaction(
  { signature, selection }: Extract<Lookup, { kind: 'signature' }>,
  context: LookupContext,
): Steps<readonly string[]> {
  const [transaction] = findSignature(signature, context);
  if (transaction === undefined) return [];
  yield;
  return yield* writeRecords(selection, [transaction], context);
}

function* writeRecords(
  selection: Selection,
  transactions: readonly number[],
  { write }: LookupContext,
): Steps<readonly string[]> {
  const lines: string[] = [];
  for (const transaction of transactions) {
    const pieces = [...write(selection, transaction)];
    lines.push(Buffer.concat(pieces).toString());
    yield;
  }
  return lines;
}
