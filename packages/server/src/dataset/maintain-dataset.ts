/**
 * Background maintenance of a dataset: applies the retention policy, seals finalized hot blocks, and removes unused
 * files.
 */
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { Dataset } from './dataset.ts';
import type { Retention } from './retention.ts';

/**
 * The pause between two runs, and the time after which a failed run is repeated. Maintenance saves memory and disk
 * space but does not affect query results, so it is not urgent.
 */
const everyMs = 2_000;
const alarm = 'dataset-maintenance-failed';

/**
 * Runs after each change until the signal aborts. A failure raises an alarm. A run that failed, or left files that a
 * reader still uses, is repeated without a change: on a full disk nothing else changes the dataset.
 */
export async function maintainDataset(
  dataset: Dataset,
  options: { readonly retention: Retention; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  let version = -1;
  let isDone = true;
  while (!signal.aborted) {
    const snapshot = await dataset.changed(isDone ? version : -1, signal);
    if (signal.aborted) return;
    version = snapshot.version;
    try {
      isDone = await maintainOnce(dataset, { retention: options.retention, isDone }, signal);
      dataset.alarms.clear(alarm);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      isDone = false;
      dataset.alarms.raise(alarm, error);
    }
    await options.clock.sleep(everyMs, signal);
  }
}

/**
 * Trims before it seals: a trim frees space and needs nearly none, but sealing needs space before it frees any. Unused
 * files are removed after each step for the same reason. Returns whether no unused file is left. `isDone` is the result of
 * the last run.
 */
async function maintainOnce(
  dataset: Dataset,
  { retention, isDone }: { readonly retention: Retention; readonly isDone: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  let isCollected = isDone;
  const trim = async () => {
    while (!signal.aborted && (await dataset.trim(retention)))
      isCollected = await dataset.collect();
  };
  await trim();
  if (!isCollected) isCollected = await dataset.collect();
  while (!signal.aborted && (await dataset.seal())) {
    isCollected = await dataset.collect();
    await trim();
  }
  return isCollected;
}
