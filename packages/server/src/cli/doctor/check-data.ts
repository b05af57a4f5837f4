import { resolve } from 'node:path';
import { isCodedError } from '@sluice/base/errors';
import { messageOf } from '@sluice/protocol/unknown-value';
import { findDatasets } from '../../dataset/stored/find-datasets.ts';
import { readStoredDataset } from '../../dataset/stored/stored-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { isOwnerRunning, WriterLock } from '../../storage/writer-lock.ts';
import { formatCount } from '../format-table.ts';
import type { Finding } from './check.ts';

const area = 'data';
/** With less free space, the next day of a busy ledger may not fit. */
const freeBytesMin = 10e9;

/** Checks the data folder, its lock, its free space and its datasets. Reads journals but no segments. */
export async function checkData(folder: string): Promise<Finding[]> {
  const path = resolve(folder);
  let names: readonly string[];
  try {
    names = await findDatasets(path, nodeFs);
  } catch (error) {
    return [describeFolder(path, error)];
  }
  const space = await checkSpace(path);
  const datasets = await Promise.all(names.map((name) => checkDataset(`${path}/${name}`, name)));
  return [await checkLock(path), ...space, ...datasets];
}

function describeFolder(path: string, error: unknown): Finding {
  if (isCodedError(error, 'storage-missing')) {
    const remedy = 'nothing, if this is the first start; otherwise give the folder with --data';
    return { area, state: 'warning', text: `${path} does not exist and will be created`, remedy };
  }
  return {
    area,
    state: 'wrong',
    text: `${path}: ${describeError(error)}`,
    remedy: 'correct its permissions',
  };
}

/** Checks that the lock can be taken, which a service does first. This also checks that the folder is writable. */
async function checkLock(path: string): Promise<Finding> {
  try {
    const lock = await WriterLock.acquire(path);
    await lock.release();
    return { area, state: 'ok', text: `${path} is writable, and no process has locked it` };
  } catch (error) {
    if (isCodedError(error, 'data-folder-locked')) {
      if (!(await isOwnerRunning(path))) return stoppedOwner(path);
      const text = `${path} is locked by a running process`;
      const remedy = 'nothing, if that is your service; a second one needs its own folder';
      return { area, state: 'warning', text, remedy };
    }
    return { area, state: 'wrong', text: describeError(error), remedy: 'correct its permissions' };
  }
}

function stoppedOwner(path: string): Finding {
  const text = `the process that has locked ${path} is stopped or does not respond, so nothing is written`;
  const remedy = 'resume it (kill -CONT), or end it and start the service again';
  return { area, state: 'wrong', text, remedy };
}

async function checkSpace(path: string): Promise<Finding[]> {
  const { freeBytes } = await nodeFs.space(path);
  const text = `${(freeBytes / 1e9).toFixed(1)} GB are free`;
  if (freeBytes >= freeBytesMin) return [{ area, state: 'ok', text }];
  return [{ area, state: 'warning', text, remedy: 'free some space, or use --keep' }];
}

async function checkDataset(path: string, name: string): Promise<Finding> {
  try {
    const { snapshot, blockCount } = await readStoredDataset(path, nodeFs);
    const { start, head } = snapshot;
    const range = head === null ? 'no block' : `slots ${start} to ${head.number}`;
    return { area, state: 'ok', text: `${name}: ${range}, ${formatCount(blockCount)} blocks` };
  } catch (error) {
    const remedy = 'restore it from a backup, or load it again; sluice verify lists the damage';
    return { area, state: 'wrong', text: `${name}: ${describeError(error)}`, remedy };
  }
}

export function describeError(error: unknown): string {
  const message = messageOf(error);
  return isCodedError(error) ? `${message} [${error.code}]` : message;
}
