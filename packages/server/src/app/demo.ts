/** The composition of the demonstration: a simulated node, two datasets that follow it, and the service over them. */
import type { Clock } from '../base/clock.ts';
import { Random } from '../base/random.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { Ingester } from '../ingest/ingester.ts';
import { type PreparerPool, startPreparerPool } from '../ingest/preparer-pool.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { SimulatedNode } from '../simulator/start-node.ts';
import { startSimulatedNode } from '../simulator/start-simulated-node.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { WriterLock } from '../storage/writer-lock.ts';
import { Closers } from './closers.ts';
import { createLog } from './create-log.ts';
import {
  DEMO_DATASETS,
  type DemoDataset,
  demoBlocksPerDay,
  demoBytesPerBlock,
  demoLedgerOptions,
  demoUnixMs,
} from './demo-ledger.ts';
import { openOrCreateDataset } from './open-dataset.ts';
import { formatUrl, type ListenChoice, type RunningDataset, runService } from './run-service.ts';
import type { Service } from './service.ts';
import { buildDemoText } from './startup-text.ts';

export interface DemoOptions {
  readonly listen: ListenChoice;
  readonly dataFolder: string;
  readonly version: string;
}

export interface DemoModules {
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts, or until a part fails that nothing can go on without. */
export async function runDemo(options: DemoOptions, modules: DemoModules): Promise<void> {
  const { dataFolder, listen, version } = options;
  const log = createLog('info', modules.err);
  const closers = new Closers();
  try {
    const lock = await WriterLock.acquire(dataFolder);
    closers.add(() => lock.release());
    const datasets: Dataset[] = [];
    for (const { name } of DEMO_DATASETS) {
      const open = { dataFolder, name, realTime: true };
      const dataset = await openOrCreateDataset(open, { ...modules, fs: nodeFs, lock });
      closers.add(() => dataset.close());
      datasets.push(dataset);
    }
    const heads = datasets.map((dataset) => dataset.snapshot().head?.number ?? null);
    const running = await startLedger(datasets, highest(heads), { ...modules, closers });
    const describe = (service: Service) => describeStart(options, service, heads);
    await runService(
      { listen, version, describe, dialects: ['ledger', 'solana'] },
      { ...modules, datasets: running, closers, log },
    );
  } finally {
    await closers.closeAll();
  }
}

/** The node, on ports that nobody else has, and what follows it. */
async function startLedger(
  datasets: readonly Dataset[],
  resumeAtSlot: Slot | undefined,
  { clock, closers }: { readonly clock: Clock; readonly closers: Closers },
): Promise<RunningDataset[]> {
  const node = await startSimulatedNode(demoLedgerOptions(resumeAtSlot), { clock });
  closers.add(() => node.close());
  const pool = startPreparerPool({ workerCount: 1, normalize: { votes: 'drop' } });
  closers.add(() => pool.close());
  return datasets.map((dataset, i) => ({
    dataset,
    ingester: createIngester(DEMO_DATASETS[i] as DemoDataset, dataset, { node, pool, clock }),
    ledgerUnixMs: () => demoUnixMs(node.ledger),
  }));
}

interface IngesterParts {
  readonly node: SimulatedNode;
  readonly pool: PreparerPool;
  readonly clock: Clock;
}

function createIngester(
  { name, firstSlot }: DemoDataset,
  dataset: Dataset,
  { node, pool, clock }: IngesterParts,
): Ingester {
  return new Ingester(
    {
      sources: [{ name: 'simulator', url: node.rpcUrl, wsUrls: [node.wsUrl] }],
      start: firstSlot === 0 ? { kind: 'genesis' } : { kind: 'slot', slot: firstSlot },
    },
    {
      dataset,
      clock,
      prepare: (slot, bytes) => pool.normalize(slot, bytes),
      random: Random.fromSeed(1).fork(name),
    },
  );
}

function highest(heads: readonly (Slot | null)[]): Slot | undefined {
  const known = heads.filter((head) => head !== null);
  return known.sort((a, b) => b - a)[0];
}

async function describeStart(
  { listen, dataFolder }: DemoOptions,
  { port, adminPort }: Service,
  heads: readonly (Slot | null)[],
): Promise<string> {
  const { freeBytes } = await nodeFs.space(dataFolder);
  return buildDemoText({
    url: formatUrl(listen.host, port),
    adminUrl: formatUrl('127.0.0.1', adminPort),
    dataFolder,
    bytesPerDay: demoBlocksPerDay * demoBytesPerBlock * DEMO_DATASETS.length,
    freeBytes,
    datasets: DEMO_DATASETS.map((dataset, i) => ({ ...dataset, head: heads[i] ?? null })),
  });
}
