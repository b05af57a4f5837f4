import { createWriteStream, type Stats } from 'node:fs';
import { lstat, realpath, rename, rm } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';

const gzipLevel = 1;

export interface OutputOptions {
  /** `-` means standard output. A name that ends in `.gz` is compressed. */
  readonly path: string;
  readonly force: boolean;
}

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Rejects a path that must not be written, before the work starts. Returns the real path, so that the target of a symbolic link is
 * replaced and not the link.
 */
export async function checkOutput({ path, force }: OutputOptions): Promise<string> {
  if (path === '-') return path;
  const existing = await lstat(path).catch(() => undefined);
  if (existing === undefined) return path;
  const target = existing.isSymbolicLink() ? await followLink(path) : path;
  const stats = target === path ? existing : await lstat(target);
  // Renaming over a device or a FIFO would remove it for other processes.
  if (!stats.isFile()) {
    throw new CodedError('cli-file-irregular', { path, found: describeKind(stats) });
  }
  if (!force) throw new CodedError('cli-file-exists', { path });
  return target;
}

/** Rejects an output path that is one of the input files, which the output would replace. */
export async function checkNotInput(out: string, paths: readonly string[]): Promise<void> {
  const target = await realpath(out).catch(() => undefined);
  if (target === undefined) return;
  for (const path of paths) {
    if ((await realpath(path).catch(() => undefined)) === target)
      throw new CodedError('cli-file-is-input', { path: out });
  }
}

async function followLink(path: string): Promise<string> {
  const target = await realpath(path).catch(() => undefined);
  if (target !== undefined) return target;
  throw new CodedError('cli-file-irregular', {
    path,
    found: 'a symbolic link whose target does not exist',
  });
}

function describeKind(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a FIFO';
  return stats.isSocket() ? 'a socket' : 'a device';
}

/** Writes the pieces atomically: under a temporary name, which is renamed at the end. */
export async function writeOutput(
  options: OutputOptions,
  pieces: Pieces,
  dependencies: { out: NodeJS.WritableStream; signal: AbortSignal },
): Promise<void> {
  const target = await checkOutput(options);
  const { path } = options;
  const { signal } = dependencies;
  if (path === '-') return writeToStream(pieces, dependencies);
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    await pump(pieces, createWriteStream(temporary), { zipped: path.endsWith('.gz'), signal });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw describeFailure(error, path, signal);
  }
}

function describeFailure(error: unknown, path: string, signal: AbortSignal): unknown {
  if (signal.aborted) return new CodedError('cli-interrupted', { path }, { cause: error });
  // The pieces may fail with an error of their own.
  return isCodedError(error) ? error : unwritable(path, error);
}

/** Returns an error of the system as one with a code. */
export function unwritable(path: string, cause: unknown): unknown {
  const reason = systemErrorCode(cause);
  if (reason === undefined) return cause;
  return new CodedError('cli-file-unwritable', { path, reason }, { cause });
}

async function pump(
  pieces: Pieces,
  file: Writable,
  { zipped, signal }: { zipped: boolean; signal: AbortSignal },
): Promise<void> {
  const source = Readable.from(pieces, { objectMode: false });
  if (zipped) await pipeline(source, createGzip({ level: gzipLevel }), file, { signal });
  else await pipeline(source, file, { signal });
}

async function writeToStream(
  pieces: Pieces,
  { out, signal }: { out: NodeJS.WritableStream; signal: AbortSignal },
): Promise<void> {
  try {
    await pipeline(Readable.from(pieces, { objectMode: false }), out, { signal, end: false });
  } catch (error) {
    // The reader has closed the pipe, as `head` does.
    const isEnough = systemErrorCode(error) === 'EPIPE';
    if (!isEnough) throw describeFailure(error, '-', signal);
  }
}
