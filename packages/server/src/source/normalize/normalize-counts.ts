import type { LogMismatch, LogOutcome } from '../logs/parse-log.ts';

/** What normalizing one block met that is worth a metric. None of it made the block wrong; all of it is a count. */
export interface NormalizeCounts {
  votesDropped: number;
  /** Transactions of a version above those this code was written for. */
  unknownVersions: number;
  /** Transactions whose log contradicted their calls and was discarded, by how. */
  degraded: Partial<Record<LogMismatch, number>>;
  /** Transactions whose log was cut off by the node. */
  truncatedLogs: number;
  /** Transactions that ran and have no log, failed ones and votes included. */
  withoutLog: number;
  /** Log lines that belong to no known call. */
  skippedLines: number;
  /** Calls without lines whose program is not known to print none. */
  silentCalls: number;
  /** Addresses of calls that neither height nor line gave. */
  guessedAddresses: number;
  /** What a complete source would have delivered: successful non-votes without log, transactions without meta, rewards. */
  missingLogs: number;
  missingMeta: number;
  missingRewards: number;
}

export function newCounts(): NormalizeCounts {
  return {
    votesDropped: 0,
    unknownVersions: 0,
    degraded: {},
    truncatedLogs: 0,
    withoutLog: 0,
    skippedLines: 0,
    silentCalls: 0,
    guessedAddresses: 0,
    missingLogs: 0,
    missingMeta: 0,
    missingRewards: 0,
  };
}

export function countOutcome(counts: NormalizeCounts, outcome: LogOutcome): void {
  const { mismatch } = outcome;
  if (mismatch !== null) counts.degraded[mismatch] = (counts.degraded[mismatch] ?? 0) + 1;
  if (outcome.isTruncated) counts.truncatedLogs++;
  if (outcome.isLogMissing) counts.withoutLog++;
  counts.skippedLines += outcome.skippedLineCount;
  counts.silentCalls += outcome.silentCallCount;
  counts.guessedAddresses += outcome.guessedAddressCount;
}
