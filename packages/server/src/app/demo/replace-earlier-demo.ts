import { isCodedError } from '@sluice/base/errors';
import { earlierGenesisHashes } from '@sluice/simulator/chain/chain';
import { readManifest } from '../../dataset/manifest.ts';
import { dropDataset } from '../../dataset/stored/drop-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { lockDataFolder } from '../lock-data-folder.ts';
import { DEMO_CONFIG } from './demo-config.ts';

/**
 * Removes demo datasets of an earlier version of the simulator, which has other blocks and cannot continue them. They are recognized
 * by their genesis hash; other datasets stay. Returns a message for the user, or undefined if nothing was removed.
 */
export async function replaceEarlierDemo(dataFolder: string): Promise<string | undefined> {
  const names = await findEarlier(dataFolder);
  if (names.length === 0) return undefined;
  const lock = await lockDataFolder(dataFolder);
  try {
    for (const name of names) await dropDataset({ dataFolder, name }, nodeFs);
  } finally {
    await lock.release();
  }
  return (
    `${dataFolder} held the demo ledger of an earlier version (${names.join(', ')}). ` +
    'Its blocks cannot be continued, so it was removed and is created again.\n'
  );
}

async function findEarlier(dataFolder: string): Promise<string[]> {
  const folders: string[] = [];
  for (const { name, sources } of DEMO_CONFIG.datasets) {
    const earlier = sources.flatMap(({ seed }): readonly string[] => earlierGenesisHashes(seed));
    const genesisHash = await readGenesisHash(`${dataFolder}/${name}`);
    if (genesisHash !== null && earlier.includes(genesisHash)) folders.push(name);
  }
  return folders;
}

/** Returns null if there is no dataset, or if it cannot be read, which is reported when it is opened. */
async function readGenesisHash(folder: string): Promise<string | null> {
  try {
    return (await readManifest(nodeFs, folder)).genesisHash;
  } catch (error) {
    if (isCodedError(error)) return null;
    throw error;
  }
}
