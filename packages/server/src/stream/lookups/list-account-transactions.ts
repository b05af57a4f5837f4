import { elementAt } from '@sluice/base/element-at';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import type { Mention, TransactionPosition } from '../../engine/lookup/find-mentions.ts';
import { hashAddress } from '../../segment/history/key-hash.ts';
import { openHistoryFilter } from '../history-filter.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import { LISTED_TRANSACTION } from './selections.ts';
import { firstSlotOf, newestParts, type SnapshotPart } from './snapshot-parts.ts';

export interface AccountRequest {
  /** 32 bytes. */
  readonly address: Uint8Array;
  /** Only transactions before this position; `null` starts at the head. */
  readonly before: TransactionPosition | null;
  readonly limit: number;
}

export interface AccountTransactions {
  /** One line per transaction, newest first. */
  readonly lines: readonly string[];
  /** Where the next page starts; `null` if there is nothing older. */
  readonly next: TransactionPosition | null;
}

export interface AccountDependencies {
  readonly dataset: DatasetReader;
  readonly lookups: SegmentLookups;
}

interface MentionInPart {
  readonly part: SnapshotPart;
  readonly mention: Mention;
}

/** Searches segments from the newest to the oldest until there are enough transactions. */
export async function listAccountTransactions(
  { address, before, limit }: AccountRequest,
  snapshot: ChainSnapshot,
  { lookups, dataset }: AccountDependencies,
  signal: AbortSignal,
): Promise<AccountTransactions> {
  // Hot blocks are in memory, and about a thousand of them are sealed at a time, so only segments are limited.
  const limits = { ...LOOKUP_LIMITS, hotBlockCountMax: Infinity };
  const range = { first: 0, last: lastSlotBefore(before) };
  const mayHave = await openHistoryFilter([[[hashAddress(address)]]], snapshot, dataset);
  const newest = await newestParts(snapshot, range, { ...limits, mayHave }, dataset.readList);
  const searched = newest.parts.toReversed();
  const mentions: MentionInPart[] = [];
  let batchCount: number = LOOKUP_LIMITS.batchCountFirst;
  // One more than requested shows whether there is another page.
  for (let start = 0; start < searched.length && mentions.length <= limit; ) {
    const parts = searched.slice(start, start + batchCount);
    const lookup = { kind: 'mentions', address, before, countMax: limit + 1 } as const;
    const byPart = await lookups.run(parts, lookup, signal);
    mentions.push(
      ...parts.flatMap((part, i) => elementAt(byPart, i).map((mention) => ({ part, mention }))),
    );
    start += batchCount;
    batchCount = Math.min(batchCount * 2, LOOKUP_LIMITS.batchCountMax);
  }
  const page = mentions.slice(0, limit);
  const lines = await readLines(page, lookups, signal);
  return { lines, next: nextPage(mentions, limit, newest.isCut, searched) };
}

function lastSlotBefore(before: TransactionPosition | null): number {
  if (before === null) return Infinity;
  return before.ordinal === 0 ? before.slot - 1 : before.slot;
}

function nextPage(
  mentions: readonly MentionInPart[],
  limit: number,
  isCut: boolean,
  searched: readonly SnapshotPart[],
): TransactionPosition | null {
  const last = mentions[limit - 1];
  if (mentions.length > limit && last !== undefined)
    return { slot: last.mention.slot, ordinal: last.mention.ordinal };
  const oldest = searched.at(-1);
  return isCut && oldest !== undefined ? { slot: firstSlotOf(oldest), ordinal: 0 } : null;
}

/** Reads the lines of the transactions, one segment after another. */
async function readLines(
  page: readonly MentionInPart[],
  lookups: SegmentLookups,
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  for (const part of new Set(page.map((mention) => mention.part))) {
    const transactions = page
      .filter((mention) => mention.part === part)
      .map(({ mention }) => mention.transaction);
    const lookup = { kind: 'records', selection: LISTED_TRANSACTION, transactions } as const;
    const [transactionLines = []] = await lookups.run([part], lookup, signal);
    lines.push(...transactionLines);
  }
  return lines;
}
