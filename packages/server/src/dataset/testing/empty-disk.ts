import { SimFs } from '../../storage/testing/sim-fs.ts';

/** Returns a disk in memory with the empty folder `data`. */
export async function makeEmptyDisk(): Promise<SimFs> {
  const fs = new SimFs();
  await fs.makeFolder('data');
  return fs;
}

/** Creates an empty file, and its folder if it is missing. */
export async function touch(fs: SimFs, path: string): Promise<void> {
  await fs.makeFolder(path.slice(0, path.lastIndexOf('/')));
  await (await fs.openFile(path, 'create')).close();
}
