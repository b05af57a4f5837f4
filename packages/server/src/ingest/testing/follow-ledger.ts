import { type Clock, systemClock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import type { SourceOptions } from '@sluice/source/open-source';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { Dataset } from '../../dataset/dataset.ts';
import type { DatasetLimits } from '../../dataset/dataset-limits.ts';
import type { Retention } from '../../dataset/retention.ts';
import { createDataset, datasetExists } from '../../dataset/stored/create-dataset.ts';
import type { Fs } from '../../storage/fs.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import type { StartPoint } from '../follow/choose-start.ts';
import { Ingester } from '../ingester.ts';
import { prepareOnce } from './prepare-once.ts';

export interface Following {
  readonly dataset: Dataset;
  readonly ingester: Ingester;
  /** Waits for a committed state that satisfies the condition. Fails after the timeout with the current state. */
  until(
    what: string,
    holds: (snapshot: ChainSnapshot) => boolean,
    msMax?: number,
  ): Promise<ChainSnapshot>;
  stop(): Promise<void>;
}

export interface FollowOptions {
  readonly start?: StartPoint;
  /** Default: a disk in memory. With another one, `folder` is the folder of the dataset. */
  readonly fs?: Fs;
  readonly folder?: string;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Without sockets every source is polled. */
  readonly withSockets?: boolean;
  readonly limits?: Partial<DatasetLimits>;
  readonly retention?: Retention;
  readonly agreement?: number;
  /** A path that is appended to the address of the first source, like an API key. */
  readonly secretPath?: string;
  /** Sources in addition to the nodes. */
  readonly sources?: readonly SourceOptions[];
}

/** Follows simulated nodes over real sockets, like the service, into a dataset on a disk in memory. */
export async function followNodes(
  nodes: readonly Pick<SimulatedNode, 'rpcUrl' | 'wsUrl'>[],
  options: FollowOptions = {},
): Promise<Following> {
  const dependencies = {
    fs: options.fs ?? new SimFs(),
    clock: options.clock ?? systemClock,
    isLockHeld: () => true,
  };
  const folder = options.folder ?? 'data/ledger';
  if (!(await datasetExists(folder, dependencies.fs))) {
    const content = { aliases: [], genesisHash: null, metaOptional: false, allowMissing: [] };
    await createDataset(folder, { name: 'ledger', votes: 'drop', ...content }, dependencies);
  }
  const dataset = await Dataset.open(
    { folder, realTime: true, limits: options.limits ?? {} },
    dependencies,
  );
  const toSource = ({ rpcUrl, wsUrl }: Pick<SimulatedNode, 'rpcUrl' | 'wsUrl'>, i: number) => ({
    kind: 'rpc' as const,
    name: `source-${i + 1}`,
    url: `${rpcUrl}${i === 0 ? (options.secretPath ?? '') : ''}`,
    wsUrls: (options.withSockets ?? true) ? [wsUrl] : [],
  });
  const ingester = new Ingester(
    {
      sources: [...nodes.map(toSource), ...(options.sources ?? [])],
      start: options.start ?? { kind: 'genesis' },
      retention: options.retention ?? { kind: 'all' },
      agreement: options.agreement ?? 1,
    },
    {
      dataset,
      clock: dependencies.clock,
      random: Random.fromSeed(1),
      prepare: async (slot, bytes, format) => prepareOnce(slot, bytes, format),
    },
  );
  const stop = new AbortController();
  const running = ingester.run(stop.signal);
  running.catch(() => undefined); // `stop` awaits `running` and throws its error.
  return {
    dataset,
    ingester,
    until: (what, holds, msMax = 20_000) => waitFor(dataset, ingester, { what, holds, msMax }),
    stop: async () => {
      stop.abort();
      await running;
      await dataset.close();
    },
  };
}

async function waitFor(
  dataset: Dataset,
  ingester: Ingester,
  wanted: { what: string; holds: (snapshot: ChainSnapshot) => boolean; msMax: number },
): Promise<ChainSnapshot> {
  const deadline = AbortSignal.timeout(wanted.msMax);
  for (;;) {
    const snapshot = dataset.snapshot();
    if (wanted.holds(snapshot)) return snapshot;
    if (deadline.aborted) throw new Error(describe(wanted.what, dataset, ingester));
    await dataset.changed(snapshot.version, deadline);
  }
}

function describe(what: string, dataset: Dataset, ingester: Ingester): string {
  const { head, finalized, hot, version } = dataset.snapshot();
  const state = { head, finalized, version, hot: hot.slice(-8).map(({ header }) => header) };
  const all = { state, ingest: ingester.status, alarms: dataset.alarms.list() };
  const text = JSON.stringify(
    all,
    (_key, value) => (typeof value === 'bigint' ? `${value}` : value),
    1,
  );
  return `timed out waiting until ${what}: ${text}`;
}
