import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { lagSeconds } from '../../http/describe-dataset.ts';

export interface VisibleLagDependencies {
  readonly ledgerUnixMs: () => number;
  readonly observe: (seconds: number) => void;
}

/** Reports the lag of each new head when readers can see it, until the signal aborts. */
export async function watchVisibleLag(
  reader: DatasetReader,
  { ledgerUnixMs, observe }: VisibleLagDependencies,
  signal: AbortSignal,
): Promise<void> {
  let { version, head } = reader.snapshot();
  while (!signal.aborted) {
    const snapshot = await reader.changed(version, signal);
    // A closed dataset changes no more.
    if (snapshot.version === version) return;
    const lag = snapshot.head?.hash === head?.hash ? null : lagSeconds(snapshot, ledgerUnixMs());
    if (lag !== null) observe(Math.max(0, lag));
    ({ version, head } = snapshot);
  }
}
