import { elementAt } from '@sluice/base/element-at';
import { DISCRIMINATOR_LENGTHS } from '@sluice/ledger/discriminator';
import type { Activity, ActivityListName } from '@sluice/protocol/lookup-results';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { segmentsDownFrom } from '../../chain/segment-lists.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import type { SegmentActivity } from '../../engine/lookup/count-activity.ts';
import type { BlockRange } from '../../engine/segment-run.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import { firstSlotOf, lastSlotOf, newestParts, type SnapshotPart } from './snapshot-parts.ts';

export interface ActivityRequest {
  readonly range: BlockRange;
  /** The number of entries of each list. */
  readonly limit: number;
}

export interface ActivityDependencies {
  readonly dataset: DatasetReader;
  readonly lookups: SegmentLookups;
}

export async function countActivity(
  { range, limit }: ActivityRequest,
  snapshot: ChainSnapshot,
  { dataset, lookups }: ActivityDependencies,
  signal: AbortSignal,
): Promise<Activity> {
  const { parts, isCut } = await newestParts(snapshot, range, LOOKUP_LIMITS, dataset.readList);
  const prefixLengths = await findPrefixLengths(parts, lookups, signal);
  const results = await lookups.run(parts, { kind: 'activity', range, prefixLengths }, signal);
  const hashes = await listBlockHashes(parts, snapshot, dataset);
  for (const { lastHashes } of results) for (const hash of lastHashes) hashes.add(hash);
  const total = (count: (result: SegmentActivity) => number) =>
    results.reduce((sum, result) => sum + count(result), 0);
  const list = (name: ActivityListName) => mergeCounts(results, name, { limit, hashes });
  return {
    fromBlock: isCut ? Math.max(range.first, firstSlotOf(elementAt(parts, 0))) : range.first,
    toBlock: range.last,
    isComplete: !isCut,
    blocks: total(({ blockCount }) => blockCount),
    transactions: total(({ transactionCount }) => transactionCount),
    programs: list('programs').map(([programId, , transactions]) => ({ programId, transactions })),
    discriminators: list('discriminators').map(([programId, prefix, transactions]) => ({
      programId,
      discriminator: `0x${prefix}`,
      transactions,
    })),
    mints: list('mints').map(([mint, , transactions]) => ({ mint, transactions })),
    accounts: list('accounts').map(([account, , transactions]) => ({ account, transactions })),
    exact: {
      programs: isExact(results, 'programs'),
      discriminators: isExact(results, 'discriminators'),
      mints: isExact(results, 'mints'),
      accounts: isExact(results, 'accounts'),
    },
  };
}

/** Returns the length of discriminators by program: the shortest one of all segments in the range, so that their counts can be added. */
async function findPrefixLengths(
  parts: readonly SnapshotPart[],
  lookups: SegmentLookups,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const lengths = new Map(DISCRIMINATOR_LENGTHS);
  for (const segmentLengths of await lookups.run(parts, { kind: 'prefixes' }, signal)) {
    for (const [program, length] of segmentLengths)
      lengths.set(program, Math.min(length, lengths.get(program) ?? length));
  }
  return lengths;
}

/** Returns the hashes of the blocks directly before the range, which its first transactions name. */
async function listBlockHashes(
  parts: readonly SnapshotPart[],
  snapshot: ChainSnapshot,
  dataset: DatasetReader,
): Promise<Set<string>> {
  const [first] = parts;
  const hashes = new Set<string>();
  if (first === undefined) return hashes;
  const below = firstSlotOf(first) - 1;
  for await (const before of segmentsDownFrom(snapshot, below, dataset.readList)) {
    for (const { hash } of await dataset.readHeaders(before)) hashes.add(hash);
    break;
  }
  for (const { header } of snapshot.hot)
    if (header.number < lastSlotOf(first)) hashes.add(header.hash);
  return hashes;
}

type CountRow = [address: string, prefix: string, count: number];

interface MergeOptions {
  readonly limit: number;
  /** Keys that are block hashes instead of accounts. */
  readonly hashes: ReadonlySet<string>;
}

/** Adds the counts of all segments and returns the greatest. Equal counts are sorted by text. */
function mergeCounts(
  results: readonly SegmentActivity[],
  name: ActivityListName,
  { limit, hashes }: MergeOptions,
): CountRow[] {
  const sums = new Map<string, CountRow>();
  for (const result of results) {
    for (const row of result[name].rows) {
      const prefix = 'prefix' in row ? row.prefix : '';
      const key = `${row.address} ${prefix}`;
      const sum = sums.get(key);
      if (sum === undefined) sums.set(key, [row.address, prefix, row.count]);
      else sum[2] += row.count;
    }
  }
  const rows = [...sums.values()].filter(
    ([address]) => name !== 'accounts' || !hashes.has(address),
  );
  return rows.sort(byCount).slice(0, limit);
}

function byCount([a, prefixA, countA]: CountRow, [b, prefixB, countB]: CountRow): number {
  return countB - countA || compareTexts(`${a} ${prefixA}`, `${b} ${prefixB}`);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isExact(results: readonly SegmentActivity[], name: ActivityListName): boolean {
  return results.every((result) => !result[name].isCut);
}
