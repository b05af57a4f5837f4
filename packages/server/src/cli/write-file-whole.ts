import { closeSync, fsync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { checkOutput, type OutputOptions } from './write-output.ts';

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
  const fail = (error: unknown) => describeFailure(error, path);
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

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
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

function describeFailure(error: unknown, path: string): unknown {
  const reason = systemErrorCode(error);
  if (reason === undefined) return error;
  return new CodedError('cli-file-unwritable', { path, reason }, { cause: error });
}
