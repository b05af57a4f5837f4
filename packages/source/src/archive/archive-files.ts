/** Reads parts of the files of an archive, in a folder or on an HTTP server. */
import { open, stat } from 'node:fs/promises';
import { isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { type Refusal, refusal, refusalOfStatus, type SourceResult } from '../refusal.ts';

export interface ArchiveFiles {
  /** Reads `length` bytes at an offset. A file that does not exist is refused as `pruned`. */
  read(
    name: string,
    range: { readonly offset: number; readonly length: number },
    signal: AbortSignal,
  ): Promise<SourceResult<Uint8Array>>;
  /** Reads a whole file of at most `bytesMax` bytes. */
  readAll(name: string, bytesMax: number, signal: AbortSignal): Promise<SourceResult<Uint8Array>>;
}

/** Opens the files at an address that starts with `http://` or `https://`, or in a folder. */
export function openArchiveFiles(location: string): ArchiveFiles {
  return isHttpAddress(location) ? new HttpFiles(location) : new FolderFiles(location);
}

export function isHttpAddress(location: string): boolean {
  return /^https?:\/\//.test(location) && URL.canParse(location);
}

class FolderFiles implements ArchiveFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(
    name: string,
    { offset, length }: { readonly offset: number; readonly length: number },
  ): Promise<SourceResult<Uint8Array>> {
    try {
      const file = await open(`${this.#folder}/${name}`);
      try {
        const bytes = new Uint8Array(length);
        const { bytesRead } = await file.read(bytes, 0, length, offset);
        if (bytesRead === length) return { kind: 'ok', value: bytes };
        return refusal('malformed', `${name} ends before byte ${offset + length}`);
      } finally {
        await file.close();
      }
    } catch (error) {
      return describeFailure(name, error);
    }
  }

  async readAll(name: string, bytesMax: number): Promise<SourceResult<Uint8Array>> {
    try {
      const { size } = await stat(`${this.#folder}/${name}`);
      if (size > bytesMax) return refusal('malformed', `${name} has ${size} bytes`);
      return await this.read(name, { offset: 0, length: size });
    } catch (error) {
      return describeFailure(name, error);
    }
  }
}

function describeFailure(name: string, error: unknown): Refusal {
  const code = systemErrorCode(error);
  if (isCodedError(error) || code === undefined) throw error;
  return refusal(code === 'ENOENT' ? 'pruned' : 'outage', `${name}: ${code}`);
}

/** The longest wait for a reply with a range of a file. */
const replyTimeoutMs = 60_000;

class HttpFiles implements ArchiveFiles {
  readonly #base: string;

  constructor(address: string) {
    this.#base = address.endsWith('/') ? address : `${address}/`;
  }

  async read(
    name: string,
    { offset, length }: { readonly offset: number; readonly length: number },
    signal: AbortSignal,
  ): Promise<SourceResult<Uint8Array>> {
    const range = `bytes=${offset}-${offset + length - 1}`;
    const result = await this.#request(name, { range }, length, signal);
    if (result.kind === 'refused' || result.value.length === length) return result;
    return refusal('malformed', `${name}: ${result.value.length} bytes instead of ${length}`);
  }

  readAll(name: string, bytesMax: number, signal: AbortSignal): Promise<SourceResult<Uint8Array>> {
    return this.#request(name, {}, bytesMax, signal);
  }

  async #request(
    name: string,
    headers: { readonly range?: string },
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<SourceResult<Uint8Array>> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(replyTimeoutMs)]);
    try {
      const reply = await fetch(new URL(name, this.#base), { headers, signal: deadline });
      const expected = headers.range === undefined ? 200 : 206;
      if (reply.status === expected) return await readBounded(reply, name, bytesMax);
      await reply.body?.cancel();
      if (reply.status === 404) return refusal('pruned', `${name}: HTTP 404`);
      if (reply.status === 200) {
        return refusal('incapable', `${name}: the server ignores ranges`);
      }
      return refusalOfStatus(reply.status, reply.headers.get('retry-after') ?? undefined);
    } catch (error) {
      if (isCodedError(error)) throw error;
      // The error may contain the address, which may contain a key.
      return refusal('outage', deadline.aborted ? 'timeout' : 'connection failed');
    }
  }
}

/** Reads a body without keeping more than it may have. */
async function readBounded(
  reply: Response,
  name: string,
  bytesMax: number,
): Promise<SourceResult<Uint8Array>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of reply.body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > bytesMax) return refusal('malformed', `${name}: more than ${bytesMax} bytes`);
  }
  return { kind: 'ok', value: new Uint8Array(Buffer.concat(chunks)) };
}
