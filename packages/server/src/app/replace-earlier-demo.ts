import { isCodedError } from '../base/errors.ts';
import { dropDataset } from '../dataset/drop-dataset.ts';
import { readManifest } from '../dataset/manifest.ts';
import { earlierGenesisHashes } from '../simulator/chain/chain.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { DEMO_CONFIG } from './demo-config.ts';
import { lockDataFolder } from './lock-data-folder.ts';

/**
 * Removes the demonstration's datasets that an earlier version of the simulator wrote: its blocks are not those of today's ledger, so
 * they could not be continued. They are recognised by their genesis hash; anything else in the folder stays. Returns what to
 * tell the person who starts the demonstration, or undefined if there was nothing to replace.
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
    'Its blocks cannot be continued, so it was removed and is written anew.\n'
  );
}

async function findEarlier(dataFolder: string): Promise<string[]> {
  const found: string[] = [];
  for (const { name, sources } of DEMO_CONFIG.datasets) {
    const earlier = sources.flatMap(({ seed }) => earlierGenesisHashes(seed) as readonly string[]);
    const genesisHash = await readGenesisHash(`${dataFolder}/${name}`);
    if (genesisHash !== null && earlier.includes(genesisHash)) found.push(name);
  }
  return found;
}

/** Null where there is no dataset, or one that cannot be read: opening it says what is wrong. */
async function readGenesisHash(folder: string): Promise<string | null> {
  try {
    return (await readManifest(nodeFs, folder)).genesisHash;
  } catch (error) {
    if (isCodedError(error)) return null;
    throw error;
  }
}
