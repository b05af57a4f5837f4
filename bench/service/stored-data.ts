/**
 * Data folders that are created once with the ordinary commands and kept in the system's temporary folder, under a name
 * that contains everything they depend on.
 */
import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { corpusBlocks } from '../corpus-blocks.ts';
import { CommandProcess } from './command-process.ts';
import { datasetName } from './processes.ts';

export interface StoredDataOptions {
  readonly name: string;
  readonly seed: number;
  /** Fills the folder. */
  readonly make: (folder: string) => Promise<void>;
}

/** Returns the folder and creates it if it does not exist. */
export async function prepareStoredData({ name, seed, make }: StoredDataOptions): Promise<string> {
  const hash = createHash('sha256');
  // A fingerprint of the simulator and the segment format.
  for (const block of corpusBlocks({ seed, blockCount: 1 })) hash.update(buildSegment([block]));
  const id = `service-${name}-${seed}-${hash.digest('hex').slice(0, 12)}`;
  const folder = join(tmpdir(), 'sluice-bench', id);
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  if (isThere) return folder;
  const draft = `${folder}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  await make(draft);
  await rename(draft, folder);
  return folder;
}

export interface ImportOptions {
  readonly seed: number;
  readonly profile: 'demo' | '2025';
  readonly firstSlot: number;
  readonly blockCount: number;
}

/** Imports simulated blocks without votes. */
export async function importSimulated(folder: string, options: ImportOptions): Promise<void> {
  const { seed, profile, firstSlot, blockCount } = options;
  const file = join(folder, 'blocks.jsonl');
  const shape = ['--seed', `${seed}`, '--profile', profile, '--votes', 'off'];
  const range = ['--start-slot', `${firstSlot}`, '--blocks', `${blockCount}`];
  await CommandProcess.run(['simulate', ...shape, ...range, '--out', file]);
  await CommandProcess.run(['import', '--data', folder, '--dataset', datasetName, file]);
  await rm(file);
}
