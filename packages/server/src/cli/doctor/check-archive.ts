import { readdir } from 'node:fs/promises';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { isHttpAddress, openArchiveFiles } from '@sluice/source/archive/archive-files';
import type { Finding } from './check.ts';

const area = 'sources';
const responseMsMax = 10_000;
const carName = /^epoch-(\d+)\.car$/;

/** Checks that an archive can be read: the files of a folder, or whether a server responds and serves ranges. */
export function checkArchive(location: string, index: number): Promise<Finding> {
  // Sources are numbered, because an address may contain a key.
  const name = `archive-${index + 1}`;
  return isHttpAddress(location) ? checkServer(name, location) : checkFolder(name, location);
}

async function checkFolder(name: string, folder: string): Promise<Finding> {
  try {
    const files = new Set(await readdir(folder));
    const epochs = [...files].flatMap((file) => carName.exec(file)?.[1] ?? []);
    const bare = epochs.filter((epoch) => !files.has(`epoch-${epoch}-slot-ranges.raw`));
    const text = `${name} has ${epochs.length} epochs`;
    if (epochs.length > 0 && bare.length === 0) return { area, state: 'ok', text };
    const remedy =
      'a backfill needs epoch-N.car and epoch-N-slot-ranges.raw; sluice import needs only the first';
    const missing = bare.length === 0 ? '' : `, without an index: ${bare.join(', ')}`;
    return { area, state: 'warning', text: `${text}${missing}`, remedy };
  } catch (error) {
    const text = `${name} cannot be read: ${systemErrorCode(error) ?? 'unknown'}`;
    return { area, state: 'wrong', text, remedy: 'check the path of the folder' };
  }
}

/** Requests the first entry of an index. A server without this epoch still shows that it responds. */
async function checkServer(name: string, address: string): Promise<Finding> {
  const signal = AbortSignal.timeout(responseMsMax);
  const range = { offset: 0, length: 12 };
  const result = await openArchiveFiles(address).read('epoch-0-slot-ranges.raw', range, signal);
  if (result.kind === 'ok') return { area, state: 'ok', text: `${name} responds with ranges` };
  if (result.reason === 'pruned') {
    return { area, state: 'ok', text: `${name} responds, and does not have epoch 0` };
  }
  const text = `${name} does not serve ranges of its files: ${result.cause}`;
  const remedy = 'check its address; the server must support the header Range';
  return { area, state: 'wrong', text, remedy };
}
