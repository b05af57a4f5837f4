import type { Clock } from '@sluice/base/clock';
import type { SourceStatus } from '@sluice/source/source-health';
import type { Logger } from 'pino';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { IngestStatus } from '../ingest/ingester.ts';

export interface LogProgressDependencies {
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface LoggedDataset {
  readonly reader: DatasetReader;
  /** `null` if the dataset follows no source. */
  readonly ingest: () => Pick<
    IngestStatus,
    'backfill' | 'behindSlots' | 'counters' | 'sources'
  > | null;
}

/** Logs the progress of the datasets from time to time, and alarms as soon as they are raised and cleared. */
export async function logProgress(
  datasets: readonly LoggedDataset[],
  { log, clock, signal }: LogProgressDependencies,
): Promise<void> {
  const standing = new Set<string>();
  const grown = datasets.map((dataset) => new GrowingDataset(dataset, { log, clock }));
  while (!signal.aborted) {
    await clock.sleep(alarmCheckMs, signal);
    for (const { reader } of datasets) logAlarms(reader, standing, log);
    for (const dataset of grown) {
      dataset.logSources();
      dataset.logIfDue();
    }
  }
}

/** The interval between two lines at the head, in which usually more than a hundred blocks arrive. */
const followingMs = 60_000;
const catchingUpMs = 10_000;
/** A smaller distance to the head is not logged. */
const catchingUpSlotsMin = 100;
const blocksALineMin = 10;
/** A source is reported after this many failed checks in a row, so that single failures are not logged. */
const failedCheckCountMax = 5;

/** A dataset, and its state when it was last logged. */
class GrowingDataset {
  readonly #dataset: LoggedDataset;
  readonly #dependencies: Pick<LogProgressDependencies, 'log' | 'clock'>;
  /** The number of failed checks in a row, by source. */
  readonly #failedChecks = new Map<string, number>();
  #loggedMs: number;
  #slot: number | undefined;
  #blocks = 0;

  constructor(
    dataset: LoggedDataset,
    dependencies: Pick<LogProgressDependencies, 'log' | 'clock'>,
  ) {
    this.#dataset = dataset;
    this.#dependencies = dependencies;
    this.#loggedMs = dependencies.clock.nowMs();
    this.#slot = dataset.reader.snapshot().head?.number;
  }

  /** Logs once that a source fails, and once that it works again. */
  logSources(): void {
    const { reader, ingest } = this.#dataset;
    const { log } = this.#dependencies;
    const dataset = reader.description.name;
    for (const { name: source, state, fault } of ingest()?.sources ?? []) {
      const failedCount = this.#failedChecks.get(source) ?? 0;
      const isWell = state === 'live' || state === 'starting';
      this.#failedChecks.set(source, isWell ? 0 : failedCount + 1);
      if (!isWell && failedCount + 1 === failedCheckCountMax) {
        log.warn({ dataset, source, state, fault }, 'the source fails');
      }
      if (isWell && failedCount >= failedCheckCountMax)
        log.info({ dataset, source }, 'the source is back');
    }
  }

  /** Returns whether a source works, according to `logSources`. */
  #hasWorkingSource(sources: readonly SourceStatus[]): boolean {
    const isAway = ({ name }: SourceStatus) =>
      (this.#failedChecks.get(name) ?? 0) >= failedCheckCountMax;
    return sources.length === 0 || !sources.every(isAway);
  }

  logIfDue(): void {
    const { reader, ingest } = this.#dataset;
    const status = ingest();
    const nowMs = this.#dependencies.clock.nowMs();
    const elapsedMs = nowMs - this.#loggedMs;
    if (status === null || elapsedMs < catchingUpMs) return;
    const { head, finalized, start } = reader.snapshot();
    const blocks = status.counters['blocks'] ?? 0;
    const from = this.#slot ?? start ?? 0;
    const far = howFar({ from, to: head?.number, behindSlots: status.behindSlots, elapsedMs });
    const isCatchingUp = far !== undefined && blocks - this.#blocks >= blocksALineMin;
    if (!isCatchingUp && elapsedMs < followingMs) return;
    const { log } = this.#dependencies;
    const dataset = reader.description.name;
    const heads = { dataset, head: head?.number, finalized: finalized?.number };
    if (isCatchingUp) {
      const blocksPerSecond = Math.round(((blocks - this.#blocks) * 1000) / elapsedMs);
      log.info({ ...heads, blocks, blocksPerSecond, ...far }, 'catching up');
    } else if (start === null) log.warn({ dataset, reason: reasons(reader) }, 'no block yet');
    else if (this.#hasWorkingSource(status.sources)) log.info(heads, 'following');
    else log.warn(heads, 'all sources fail');
    if (status.backfill !== null) log.info({ dataset, ...status.backfill }, 'backfilling');
    this.#loggedMs = nowMs;
    this.#slot = head?.number;
    this.#blocks = blocks;
  }
}

/** Returns the messages of the active alarms, or undefined. */
function reasons(reader: DatasetReader): string | undefined {
  const messages = reader.status().alarms.map(({ message }) => message);
  return messages.length === 0 ? undefined : messages.join('; ');
}

interface Advance {
  readonly from: number;
  readonly to: number | undefined;
  readonly behindSlots: number | null;
  readonly elapsedMs: number;
}

/** Returns undefined if the dataset is near the head of its sources. */
function howFar({ from, to, behindSlots, elapsedMs }: Advance) {
  if (to === undefined || behindSlots === null || behindSlots < catchingUpSlotsMin) return;
  if (to <= from) return { behindSlots };
  return { behindSlots, secondsLeft: Math.ceil((behindSlots * elapsedMs) / (to - from) / 1000) };
}

const alarmCheckMs = 1_000;

function logAlarms(dataset: DatasetReader, standing: Set<string>, log: Logger): void {
  const { name } = dataset.description;
  const now = new Set<string>();
  for (const { code, message } of dataset.status().alarms) {
    const key = `${name} ${code}`;
    now.add(key);
    if (!standing.has(key)) log.warn({ dataset: name, code }, message);
    standing.add(key);
  }
  for (const key of standing) {
    if (!key.startsWith(`${name} `) || now.has(key)) continue;
    standing.delete(key);
    log.info({ dataset: name, code: key.slice(name.length + 1) }, 'alarm cleared');
  }
}
