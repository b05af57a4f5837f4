import { removeDropped } from '../dataset/drop-dataset.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { WriterLock } from '../storage/writer-lock.ts';

/** Makes this process the one that writes to a data folder. What a drop that was cut short left there goes. */
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
