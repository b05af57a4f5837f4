/**
 * Background maintenance of a dataset: seals finalized hot blocks, applies the retention policy, and removes unused
 * files.
 */
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { Dataset } from './dataset.ts';
import type { Retention } from './retention.ts';

/**
 * The pause between two runs. Sealing saves memory and disk space but does not affect query results, so it is not
 * urgent.
 */
const everyMs = 2_000;
const alarm = 'dataset-maintenance-failed';

/** Runs until the signal aborts. A failure raises an alarm and is retried. */
export async function maintainDataset(
  dataset: Dataset,
  options: { readonly retention: Retention; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  let version = -1;
  while (!signal.aborted) {
    const snapshot = await dataset.changed(version, signal);
    if (signal.aborted) return;
    version = snapshot.version;
    try {
      await maintainOnce(dataset, options.retention, signal);
      dataset.alarms.clear(alarm);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      dataset.alarms.raise(alarm, error);
    }
    await options.clock.sleep(everyMs, signal);
  }
}

async function maintainOnce(
  dataset: Dataset,
  retention: Retention,
  signal: AbortSignal,
): Promise<void> {
  let hasChanged = false;
  while (!signal.aborted && (await dataset.seal())) hasChanged = true;
  if (!signal.aborted && (await dataset.trim(retention))) hasChanged = true;
  if (hasChanged) await dataset.collect();
}
