import type { LogMismatch, LogOutcome } from '../logs/parse-log.ts';

/** Counts of unusual things in one block, for metrics. None of them makes the block invalid. */
export interface NormalizeCounts {
  votesDropped: number;
  /** Transactions of an unknown newer version. */
  unknownVersions: number;
  /** Transactions whose log contradicts their calls and was discarded, by kind of contradiction. */
  degraded: Partial<Record<LogMismatch, number>>;
  /** Transactions whose log the node has truncated. */
  truncatedLogs: number;
  /** Transactions that ran and have no log, including failed ones and votes. */
  withoutLog: number;
  /** Log lines that belong to no known call. */
  skippedLines: number;
  /** Calls that printed no lines, of programs that usually print some. */
  silentCalls: number;
  /** Addresses of calls that neither the heights nor the lines determine. */
  guessedAddresses: number;
  /** Missing parts: logs of successful non-votes, `meta` of transactions, rewards. */
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
