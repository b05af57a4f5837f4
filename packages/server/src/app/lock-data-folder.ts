import { removeDropped } from '../dataset/stored/drop-dataset.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { WriterLock } from '../storage/writer-lock.ts';

/** Locks a data folder for writing, and removes the remains of an interrupted `sluice dataset drop`. */
export async function lockDataFolder(folder: string): Promise<WriterLock> {
  const lock = await WriterLock.acquire(folder);
  try {
    await removeDropped(folder, nodeFs);
    return lock;
  } catch (error) {
    await lock.release();
    throw error;
  }
}
