/** Beside serving: hot blocks that are final become segments, what the policy lets go goes, and its space comes back. */
import type { Clock } from '../base/clock.ts';
import { isCodedError } from '../base/errors.ts';
import type { Dataset } from './dataset.ts';
import type { Retention } from './retention.ts';

/** How long after a change the work may wait: sealing is about memory and disk, not about answers. */
const everyMs = 2_000;
const alarm = 'dataset-maintenance-failed';

/** Resolves after the signal aborted. What fails is alarmed and tried again. */
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
