import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemErrorCode } from '@sluice/base/system-error-code';

/**
 * Creates a folder and its missing parents. Node's recursive `mkdir` never returns if the system reports that an
 * existing parent is missing, as below /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path);
  try {
    await mkdir(folder);
  } catch (error) {
    if (await isFolder(folder)) return;
    if (systemErrorCode(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await mkdir(folder).catch(async (failure: unknown) => {
      // Another process may have created it meanwhile.
      if (!(await isFolder(folder))) throw failure;
    });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
