import { closeSync, fsync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { CodedError } from '@sluice/base/errors';
import { writeAll } from '../storage/range-file.ts';
import { checkOutput, type OutputOptions, unwritable } from './write-output.ts';

const sync = promisify(fsync);

/** Writes a file atomically and durably: under a temporary name, which is renamed at the end. */
export async function writeFileWhole<Result>(
  options: OutputOptions,
  signal: AbortSignal,
  work: (write: (bytes: Uint8Array) => void) => Promise<Result>,
): Promise<Result> {
  const target = await checkOutput(options);
  const { path } = options;
  const temporary = `${target}.${process.pid}.tmp`;
  const fail = (error: unknown) => unwritable(path, error);
  const file = attempt(() => openSync(temporary, 'w'), fail);
  let isOpen = true;
  try {
    const result = await work((bytes) => attempt(() => writeAll(file, bytes), fail));
    if (signal.aborted) throw new CodedError('cli-interrupted', { path });
    await sync(file).catch((error) => {
      throw fail(error);
    });
    closeSync(file);
    isOpen = false;
    attempt(() => renameSync(temporary, target), fail);
    await syncFolder(dirname(target)).catch((error) => {
      throw fail(error);
    });
    return result;
  } catch (error) {
    if (isOpen) closeSync(file);
    rmSync(temporary, { force: true });
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = openSync(path, 'r');
  try {
    await sync(folder);
  } finally {
    closeSync(folder);
  }
}

function attempt<Result>(work: () => Result, fail: (error: unknown) => unknown): Result {
  try {
    return work();
  } catch (error) {
    throw fail(error);
  }
}
