/**
 * The configuration of the demo: two datasets of one simulated ledger with a fixed seed, so that every demo has the same blocks. They
 * show that each dataset decides what it stores: `ledger-beta` has the whole history without votes, `ledger-mainnet` starts later and
 * stores votes too.
 *
 *   slot 0 ──────── mainnetFirstSlot, 1 February 2025 ──────── firstHeadSlot ──► grows
 *   └ ledger-beta   └ ledger-mainnet                           └ the head at the very first start
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nodeFs } from '../../storage/node-fs.ts';
import type { RunningService } from '../serve.ts';
import { buildDemoText } from './startup-text.ts';

const slotMs = 400;
/** Enough blocks to have finalized ones, and few enough to be stored within seconds. */
const firstHeadSlot = 200;
const mainnetFirstSlot = 100;
const mainnetFirstSeconds = Date.UTC(2025, 1, 1) / 1000;

const ledger = {
  kind: 'simulator',
  name: 'simulator',
  profile: 'demo',
  seed: 1,
  slotMs,
  startSlot: firstHeadSlot,
  startSeconds: mainnetFirstSeconds + ((firstHeadSlot - mainnetFirstSlot) * slotMs) / 1000,
};

/** The IDLs of the simulated programs, which a clone of the repository contains. */
function simulatedIdls(): readonly { readonly path: string }[] {
  const path = fileURLToPath(new URL('../../../../../docs/idl', import.meta.url));
  return existsSync(path) ? [{ path }] : [];
}

/** In the form of a configuration file. */
export const DEMO_CONFIG = {
  serveUnlisted: false,
  idl: simulatedIdls(),
  dialects: ['ledger', 'solana'],
  datasets: [
    { name: 'ledger-beta', from: 'genesis', sources: [ledger] },
    { name: 'ledger-mainnet', from: mainnetFirstSlot, votes: 'keep', sources: [ledger] },
  ],
};

const descriptions: Readonly<Record<string, string>> = {
  'ledger-beta': 'the whole history, without vote transactions',
  'ledger-mainnet': 'from 1 February 2025, with vote transactions',
};

/** The number of blocks per day, ignoring skipped slots. */
const blocksPerDay = 86_400_000 / slotMs;
/** The mean size of a block in a sealed segment of 1,024 blocks: measured 4,950 bytes without votes and 5,450 with them. */
const bytesPerBlock = 5_200;

/** The longest wait for data before the startup text is printed, because the command in it should work at once. */
const firstBlockMsMax = 10_000;

export async function describeDemo(running: RunningService, signal: AbortSignal): Promise<string> {
  const { config, url, adminUrl, datasets, refused } = running;
  await untilStarted(datasets, AbortSignal.any([signal, AbortSignal.timeout(firstBlockMsMax)]));
  const { freeBytes } = await nodeFs.space(config.data);
  return buildDemoText({
    url,
    adminUrl,
    dataFolder: config.data,
    bytesPerDay: blocksPerDay * bytesPerBlock * datasets.length,
    freeBytes,
    datasets: datasets.map(({ planned, openedHead }) => ({
      name: planned.names.name,
      text: descriptions[planned.names.name] ?? '',
      head: openedHead,
    })),
    refused: refused.map(({ name, error }) => `${name}, ${error.code}: ${error.message}`),
  });
}

async function untilStarted(
  datasets: RunningService['datasets'],
  signal: AbortSignal,
): Promise<void> {
  for (const { dataset } of datasets) {
    let snapshot = dataset.snapshot();
    while (snapshot.head === null && !signal.aborted) {
      snapshot = await dataset.changed(snapshot.version, signal);
    }
  }
}
