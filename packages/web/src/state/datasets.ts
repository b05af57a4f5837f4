/** The datasets and their status, loaded again every second while the page is visible. */

import { computed, signal } from '@preact/signals';
import { listDatasets } from '@sluice/client';
import { clock } from '../base/clock.ts';
import { clientOf } from './clients.ts';
import { apiKey, connection, keyState, watchedFetch } from './connection.ts';
import type { DatasetStatus } from './dataset-status.ts';
import { route } from './router.ts';

const refreshMs = 1_000;
/** The maximum number of datasets whose status is loaded. Others are listed without it. */
const statusCountMax = 24;

/** `undefined` until the first response of the service. */
export const datasets = signal<readonly DatasetStatus[] | undefined>(undefined);
const chosen = signal<string | undefined>(undefined);

/** The dataset of the current page: the dataset in its address, otherwise the last visited dataset, otherwise the first in the list. */
export const currentDataset = computed(() => {
  const [, page = '', name] = route.value.path.split('/');
  const isNamed = page !== 'docs' && name !== undefined && name !== '';
  return (isNamed ? name : chosen.value) ?? datasets.value?.[0]?.dataset;
});

export function chooseDataset(name: string): void {
  chosen.value = name;
}

export function statusOf(name: string): DatasetStatus | undefined {
  return datasets.value?.find(({ dataset, aliases }) => dataset === name || aliases.includes(name));
}

export async function pollDatasets(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (document.visibilityState === 'visible' && keyState.value === 'accepted') {
      await refresh().catch(() => undefined);
    }
    await clock.sleep(refreshMs, signal);
  }
}

async function refresh(): Promise<void> {
  const key = apiKey.value;
  const names = await listDatasets({
    url: location.origin,
    fetch: watchedFetch,
    // The next round is the retry.
    retry: { attemptsMax: 1 },
    ...(key === null ? {} : { key }),
  });
  const statuses = await Promise.all(
    names.slice(0, statusCountMax).map(({ dataset }) =>
      clientOf(dataset)
        .status()
        .catch(() => statusOf(dataset)),
    ),
  );
  if (connection.value.kind !== 'online') return;
  datasets.value = statuses.flatMap((status) => (status as DatasetStatus | undefined) ?? []);
}
