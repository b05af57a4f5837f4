import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import type { SourceStatus } from '../source/source-health.ts';

export interface LogProgressModules {
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface LoggedDataset {
  readonly reader: DatasetReader;
  /** `null` where nothing feeds it. */
  readonly ingest: () => Pick<
    IngestStatus,
    'backfill' | 'behindSlots' | 'counters' | 'sources'
  > | null;
}

/** Says once in a while how far the datasets are that grow, and at once which alarms were raised and cleared. */
export async function logProgress(
  datasets: readonly LoggedDataset[],
  { log, clock, signal }: LogProgressModules,
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

/** Far below one line per ten blocks. */
const followingMs = 60_000;
/** Who waits for history to come wants to see it move. */
const catchingUpMs = 10_000;
/** Nearer than this it is there before anybody has read the line. */
const catchingUpSlotsMin = 100;
const blocksALineMin = 10;
/** A call that fails now and then is nobody's business; a source that is away is. */
const failedLooksMax = 5;

/** A dataset, and how far it was when that was last told. */
class GrowingDataset {
  readonly #dataset: LoggedDataset;
  readonly #modules: Pick<LogProgressModules, 'log' | 'clock'>;
  /** By source, for how many looks in a row it did not answer. */
  readonly #failedLooks = new Map<string, number>();
  #saidMs: number;
  #slot: number | undefined;
  #blocks = 0;

  constructor(dataset: LoggedDataset, modules: Pick<LogProgressModules, 'log' | 'clock'>) {
    this.#dataset = dataset;
    this.#modules = modules;
    this.#saidMs = modules.clock.nowMs();
    this.#slot = dataset.reader.snapshot().head?.number;
  }

  /** Says of a source once that it does not answer, and once that it does again. */
  logSources(): void {
    const { reader, ingest } = this.#dataset;
    const { log } = this.#modules;
    const dataset = reader.description.name;
    for (const { name: source, state, fault } of ingest()?.sources ?? []) {
      const looks = this.#failedLooks.get(source) ?? 0;
      const isWell = state === 'live' || state === 'starting';
      this.#failedLooks.set(source, isWell ? 0 : looks + 1);
      if (!isWell && looks + 1 === failedLooksMax) {
        log.warn({ dataset, source, state, fault }, 'the source does not answer as it should');
      }
      if (isWell && looks >= failedLooksMax) log.info({ dataset, source }, 'the source is back');
    }
  }

  /** By what `logSources` has seen. */
  #isAnswered(sources: readonly SourceStatus[]): boolean {
    const isAway = ({ name }: SourceStatus) => (this.#failedLooks.get(name) ?? 0) >= failedLooksMax;
    return sources.length === 0 || !sources.every(isAway);
  }

  logIfDue(): void {
    const { reader, ingest } = this.#dataset;
    const status = ingest();
    const nowMs = this.#modules.clock.nowMs();
    const elapsedMs = nowMs - this.#saidMs;
    if (status === null || elapsedMs < catchingUpMs) return;
    const { head, finalized, start } = reader.snapshot();
    const blocks = status.counters['blocks'] ?? 0;
    const from = this.#slot ?? start ?? 0;
    const far = howFar({ from, to: head?.number, behindSlots: status.behindSlots, elapsedMs });
    const isCatchingUp = far !== undefined && blocks - this.#blocks >= blocksALineMin;
    if (!isCatchingUp && elapsedMs < followingMs) return;
    const { log } = this.#modules;
    const dataset = reader.description.name;
    const heads = { dataset, head: head?.number, finalized: finalized?.number };
    if (isCatchingUp) {
      const blocksPerSecond = Math.round(((blocks - this.#blocks) * 1000) / elapsedMs);
      log.info({ ...heads, blocks, blocksPerSecond, ...far }, 'catching up');
    } else if (start === null) log.warn({ dataset, reason: reasons(reader) }, 'no block yet');
    else if (this.#isAnswered(status.sources)) log.info(heads, 'following');
    else log.warn(heads, 'no source answers as it should');
    if (status.backfill !== null) log.info({ dataset, ...status.backfill }, 'backfilling');
    this.#saidMs = nowMs;
    this.#slot = head?.number;
    this.#blocks = blocks;
  }
}

/** The messages of the alarms that stand, or undefined. */
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

/** Undefined where the head of the sources is near. */
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
