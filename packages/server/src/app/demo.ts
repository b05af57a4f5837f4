/** The composition of the demonstration: a simulated node, two datasets that follow it, and the service over them. */
import type { Logger } from 'pino';
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
import { decideAccess } from './listen-policy.ts';
import { logProgress } from './log-progress.ts';
import { openOrCreateDataset } from './open-dataset.ts';
import { Service } from './service.ts';
import { buildDemoText } from './startup-text.ts';
import { Tasks } from './tasks.ts';

export interface DemoOptions {
  readonly host: string;
  readonly port: number;
  readonly adminPort?: number | undefined;
  readonly auth?: 'none' | undefined;
  readonly keys?: string | undefined;
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
  const isPretty = (modules.err as { isTTY?: boolean }).isTTY === true;
  const log = createLog({ level: 'info', isPretty }, modules.err);
  const closers = new Closers();
  try {
    const { dataFolder } = options;
    const lock = await WriterLock.acquire(dataFolder);
    closers.add(() => lock.release());
    const datasets: Dataset[] = [];
    for (const { name } of DEMO_DATASETS) {
      const open = { dataFolder, name, realTime: true };
      const dataset = await openOrCreateDataset(open, { ...modules, fs: nodeFs, lock });
      closers.add(() => dataset.close());
      datasets.push(dataset);
    }
    await follow({ options, datasets, log, closers }, modules);
  } finally {
    await closers.closeAll();
  }
}

interface DemoParts {
  readonly options: DemoOptions;
  readonly datasets: readonly Dataset[];
  readonly log: Logger;
  readonly closers: Closers;
}

async function follow(parts: DemoParts, modules: DemoModules): Promise<void> {
  const { options, datasets, log, closers } = parts;
  const { clock, signal } = modules;
  const keys = decideAccess({ ...options, keysFile: options.keys });
  const heads = datasets.map((dataset) => dataset.snapshot().head?.number ?? null);
  const node = await startSimulatedNode(demoLedgerOptions(highest(heads)), { clock });
  closers.add(() => node.close());
  const pool = startPreparerPool({ workerCount: 1, normalize: { votes: 'drop' } });
  closers.add(() => pool.close());
  const ingesters = datasets.map((dataset, i) =>
    createIngester(DEMO_DATASETS[i] as DemoDataset, dataset, { node, pool, clock }),
  );
  const tasks = new Tasks();
  closers.add(() => tasks.stop());
  for (const ingester of ingesters) tasks.run((stop) => ingester.run(stop));
  tasks.run((stop) => logProgress({ datasets, everyMs: progressMs }, { log, clock, signal: stop }));
  const service = await Service.start(
    { ...options, adminHost: '127.0.0.1', keys, dialects: ['ledger', 'solana'] },
    {
      clock,
      log,
      datasets: datasets.map((reader, i) => ({
        reader,
        sources: () => ingesters[i]?.status.sources ?? [],
        ledgerUnixMs: () => demoUnixMs(node.ledger),
      })),
    },
  );
  // Closed first: readers are let go before what they read stops growing.
  closers.add(() => service.close());
  modules.out.write(await describeStart(options, service, heads));
  await tasks.untilFailed(signal);
  log.info('stopping');
}

/** Far below one line per ten blocks. */
const progressMs = 60_000;

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
  { host, dataFolder }: DemoOptions,
  { port, adminPort }: Service,
  heads: readonly (Slot | null)[],
): Promise<string> {
  const { freeBytes } = await nodeFs.space(dataFolder);
  const name = host.includes(':') ? `[${host}]` : host;
  return buildDemoText({
    url: `http://${name}:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    dataFolder,
    bytesPerDay: demoBlocksPerDay * demoBytesPerBlock * DEMO_DATASETS.length,
    freeBytes,
    datasets: DEMO_DATASETS.map((dataset, i) => ({ ...dataset, head: heads[i] ?? null })),
  });
}
