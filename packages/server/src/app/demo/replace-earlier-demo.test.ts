import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { earlierGenesisHashes, SimulatedChain } from '@sluice/simulator/chain/chain';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { datasetExists } from '../../dataset/stored/create-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { lockDataFolder } from '../lock-data-folder.ts';
import { openOrCreateDataset } from '../open-dataset.ts';
import { replaceEarlierDemo } from './replace-earlier-demo.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-earlier-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function writeDataset(name: string, genesisHash: string): Promise<void> {
  const lock = await lockDataFolder(folder);
  const options = { folder: join(folder, name), name, realTime: false, manifest: { genesisHash } };
  const dataset = await openOrCreateDataset(options, { fs: nodeFs, clock: systemClock, lock });
  await dataset.close();
  await lock.release();
}

function exists(name: string): Promise<boolean> {
  return datasetExists(join(folder, name), nodeFs);
}

const earlier = earlierGenesisHashes(1)[0] as string;

describe('replace-earlier-demo', () => {
  test('behavior: datasets of an earlier simulator are removed, with a message that names them', async () => {
    await writeDataset('ledger-beta', earlier);
    await writeDataset('ledger-mainnet', earlier);
    const message = await replaceEarlierDemo(folder);
    expect(message).toContain('ledger-beta, ledger-mainnet');
    expect(message).toContain('earlier version');
    expect([await exists('ledger-beta'), await exists('ledger-mainnet')]).toEqual([false, false]);
  });

  test('behavior: the current ledger, other ledgers and other files stay', async () => {
    await writeDataset('ledger-beta', new SimulatedChain({ seed: 1 }).genesisHash);
    await writeDataset('ledger-mainnet', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d');
    await writeDataset('other', earlier);
    mkdirSync(join(folder, 'notes'));
    writeFileSync(join(folder, 'notes', 'a.txt'), 'a');
    expect(await replaceEarlierDemo(folder)).toBe(undefined);
    const names = ['ledger-beta', 'ledger-mainnet', 'other'];
    expect(await Promise.all(names.map(exists))).toEqual([true, true, true]);
    expect(existsSync(join(folder, 'notes', 'a.txt'))).toBe(true);
  });

  test('behavior: a missing folder is ignored', async () => {
    expect(await replaceEarlierDemo(join(folder, 'missing'))).toBe(undefined);
    expect(existsSync(join(folder, 'missing'))).toBe(false);
  });
});
