import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { IngestStatus } from '../ingest/ingester.ts';

export interface LogProgressModules {
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface LoggedDataset {
  readonly reader: DatasetReader;
  /** `null` where nothing feeds it. */
  readonly ingest: () => Pick<IngestStatus, 'backfill' | 'behindSlots' | 'counters'> | null;
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
    for (const dataset of grown) dataset.logIfDue();
  }
}

/** Far below one line per ten blocks. */
const followingMs = 60_000;
/** Who waits for history to come wants to see it move. */
const catchingUpMs = 10_000;
/** Nearer than this it is there before anybody has read the line. */
const catchingUpSlotsMin = 100;
const blocksALineMin = 10;

/** A dataset, and how far it was when that was last told. */
class GrowingDataset {
  readonly #dataset: LoggedDataset;
  readonly #modules: Pick<LogProgressModules, 'log' | 'clock'>;
  #saidMs: number;
  #slot: number | undefined;
  #blocks = 0;

  constructor(dataset: LoggedDataset, modules: Pick<LogProgressModules, 'log' | 'clock'>) {
    this.#dataset = dataset;
    this.#modules = modules;
    this.#saidMs = modules.clock.nowMs();
    this.#slot = dataset.reader.snapshot().head?.number;
  }

  logIfDue(): void {
    const { reader, ingest } = this.#dataset;
    const status = ingest();
    const nowMs = this.#modules.clock.nowMs();
    const elapsedMs = nowMs - this.#saidMs;
    if (status === null || elapsedMs < catchingUpMs) return;
    const { head, finalized } = reader.snapshot();
    const blocks = status.counters['blocks'] ?? 0;
    const far = this.#howFar(head?.number, status.behindSlots, elapsedMs);
    const isCatchingUp = far !== undefined && blocks - this.#blocks >= blocksALineMin;
    if (!isCatchingUp && elapsedMs < followingMs) return;
    const { log } = this.#modules;
    const dataset = reader.description.name;
    const heads = { dataset, head: head?.number, finalized: finalized?.number };
    if (isCatchingUp) {
      const blocksPerSecond = Math.round(((blocks - this.#blocks) * 1000) / elapsedMs);
      log.info({ ...heads, blocks, blocksPerSecond, ...far }, 'catching up');
    } else log.info(heads, 'following');
    if (status.backfill !== null) log.info({ dataset, ...status.backfill }, 'backfilling');
    this.#saidMs = nowMs;
    this.#slot = head?.number;
    this.#blocks = blocks;
  }

  /** Undefined where the head is near, or did not come nearer. */
  #howFar(slot: number | undefined, behindSlots: number | null, elapsedMs: number) {
    if (slot === undefined || behindSlots === null || behindSlots < catchingUpSlotsMin) return;
    const slots = slot - (this.#slot ?? slot);
    if (slots <= 0) return { behindSlots };
    return { behindSlots, secondsLeft: Math.ceil((behindSlots * elapsedMs) / slots / 1000) };
  }
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
