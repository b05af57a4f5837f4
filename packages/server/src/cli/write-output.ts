import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CodedError } from '../base/errors.ts';

const gzipLevel = 1;

export interface OutputOptions {
  /** `-` for standard output; gzip if it ends in `.gz`. */
  readonly path: string;
  readonly force: boolean;
}

/** Refuses a path that must not be written, before any work is done for it. */
export async function checkOutput({ path, force }: OutputOptions): Promise<void> {
  if (path === '-') return;
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw new CodedError('cli-file-unwritable', { path, reason: 'EISDIR' });
  if (found !== undefined && !force) throw new CodedError('cli-file-exists', { path });
}

/** Writes the pieces whole or not at all: under a temporary name that becomes the path at the end. */
export async function writeOutput(
  options: OutputOptions,
  pieces: Iterable<Uint8Array>,
  modules: { out: NodeJS.WritableStream; signal: AbortSignal },
): Promise<void> {
  await checkOutput(options);
  const { path } = options;
  const { signal } = modules;
  if (path === '-') return writeToStream(pieces, modules);
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await pump(pieces, createWriteStream(temporary), { zipped: path.endsWith('.gz'), signal });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw describeFailure(error, path, signal);
  }
}

function describeFailure(error: unknown, path: string, signal: AbortSignal): unknown {
  if (signal.aborted) return new CodedError('cli-interrupted', { path }, { cause: error });
  const reason = (error as NodeJS.ErrnoException).code;
  if (reason === undefined) return error;
  return new CodedError('cli-file-unwritable', { path, reason }, { cause: error });
}

async function pump(
  pieces: Iterable<Uint8Array>,
  file: Writable,
  { zipped, signal }: { zipped: boolean; signal: AbortSignal },
): Promise<void> {
  const source = Readable.from(pieces, { objectMode: false });
  if (zipped) await pipeline(source, createGzip({ level: gzipLevel }), file, { signal });
  else await pipeline(source, file, { signal });
}

async function writeToStream(
  pieces: Iterable<Uint8Array>,
  { out, signal }: { out: NodeJS.WritableStream; signal: AbortSignal },
): Promise<void> {
  try {
    await pipeline(Readable.from(pieces, { objectMode: false }), out, { signal, end: false });
  } catch (error) {
    // The reader has seen enough, as `head` has.
    const isEnough = (error as NodeJS.ErrnoException).code === 'EPIPE';
    if (!isEnough) throw describeFailure(error, '-', signal);
  }
}
