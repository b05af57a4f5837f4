import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WriterLock } from '../../storage/writer-lock.ts';
import { runMain } from './run-main.ts';

/** Makes `data` in a folder, with the dataset `mine` of five blocks, and the file `blocks.jsonl` that they are from. Returns their slots. */
export async function makeSmallDataFolder(folder: string): Promise<readonly number[]> {
  const blocks = join(folder, 'blocks.jsonl');
  const range = ['--seed', '3', '--start-slot', '300', '--blocks', '5'];
  await runMain(['simulate', ...range, '--out', blocks]);
  await runMain(['import', '--data', join(folder, 'data'), '--dataset', 'mine', blocks]);
  const lines = readFileSync(blocks, 'utf8').trimEnd().split('\n');
  return lines.map((line) => Number(/\d+/.exec(line)?.[0]));
}

/** Holds the lock of a data folder meanwhile, as a running service does. */
export async function whileHeld<Result>(
  data: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = await WriterLock.acquire(data);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}
