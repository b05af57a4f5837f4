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
  readonly ingest: () => Pick<IngestStatus, 'backfill'> | null;
}

/** Says once in a while how far the datasets are, and at once which alarms were raised and cleared. */
export async function logProgress(
  { datasets, everyMs }: { readonly datasets: readonly LoggedDataset[]; readonly everyMs: number },
  { log, clock, signal }: LogProgressModules,
): Promise<void> {
  const standing = new Set<string>();
  let saidMs = clock.nowMs();
  while (!signal.aborted) {
    await clock.sleep(alarmCheckMs, signal);
    for (const { reader } of datasets) logAlarms(reader, standing, log);
    if (clock.nowMs() - saidMs < everyMs) continue;
    saidMs = clock.nowMs();
    for (const { reader, ingest } of datasets) {
      const dataset = reader.description.name;
      const { head, finalized } = reader.snapshot();
      log.info({ dataset, head: head?.number, finalized: finalized?.number }, 'following');
      const progress = ingest()?.backfill ?? null;
      if (progress !== null) log.info({ dataset, ...progress }, 'backfilling');
    }
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
