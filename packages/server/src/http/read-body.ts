import type { IncomingMessage } from 'node:http';
import { createGunzip, type Gunzip } from 'node:zlib';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import type { HeldBytes } from './byte-meter.ts';

const discardedBytesMax = 64 * 1024 * 1024;
const discardMsMax = 2_000;

export interface ReadBodyOptions {
  /** Applies to the bytes received and to the decompressed bytes. */
  readonly bodyBytesMax: number;
  /** Counts the bytes that are kept. The caller releases them. */
  readonly held: HeldBytes;
}

/** Rejects a body that is not JSON by its headers, before it is read. Clients of the dialect `solana` may send no type. */
export function checkBodyHeaders(
  request: IncomingMessage,
  { isTypeOptional }: { readonly isTypeOptional: boolean },
): void {
  const { 'content-encoding': encoding } = request.headers;
  const type = request.headers['content-type'] ?? (isTypeOptional ? 'application/json' : undefined);
  if (type === undefined || !/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type)) {
    throw new CodedError('content-type-wrong', { found: describeHeader(type) });
  }
  if (!/^(gzip|x-gzip|identity)?$/i.test(encoding?.trim() ?? '')) {
    throw new CodedError('content-encoding-wrong', { found: describeHeader(encoding) });
  }
}

const headerLengthMax = 64;

function describeHeader(value: string | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value.slice(0, headerLengthMax));
}

/** Reads and decompresses the body. Resolves to `null` if the client disconnected before its end. */
export function readBody(
  request: IncomingMessage,
  options: ReadBodyOptions,
): Promise<Uint8Array | null> {
  const { bodyBytesMax, held } = options;
  const tooLarge = () => new CodedError('body-too-large', { bytesMax: bodyBytesMax });
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) {
    return Promise.reject(tooLarge());
  }
  return new Promise<Uint8Array | null>((resolve, reject) => {
    const decoded = new ByteCollector(bodyBytesMax);
    const gunzip = /gzip/i.test(request.headers['content-encoding'] ?? '') ? createGunzip() : null;
    let wireBytes = 0;
    const settle = (act: () => void) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      gunzip?.destroy();
      act();
    };
    const refuse = (error: unknown) => settle(() => reject(error));
    const keep = (chunk: Uint8Array) => {
      if (!decoded.add(chunk)) refuse(tooLarge());
      else if (!held.take(chunk.length)) refuse(new CodedError('queries-full'));
    };
    const finish = () => settle(() => resolve(decoded.take()));
    const onData = (chunk: Uint8Array) => {
      wireBytes += chunk.length;
      if (wireBytes > bodyBytesMax) refuse(tooLarge());
      else if (gunzip === null) keep(chunk);
      else gunzip.write(chunk);
    };
    const onEnd = () => (gunzip === null ? finish() : void gunzip.end());
    const onClose = () => {
      if (!request.readableEnded) settle(() => resolve(null));
    };
    if (gunzip !== null) listenToGunzip(gunzip, { keep, finish, refuse });
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

/**
 * Reads the rest of a rejected body and forgets it. A connection that is closed while its client still sends is reset, and
 * the client would lose the response. Resolves earlier if the client disconnects, sends too much, or is too slow.
 */
export function discardBody(request: IncomingMessage, clock: Clock): Promise<void> {
  const over = new AbortController();
  let byteCount = 0;
  const onData = ({ length }: Uint8Array) => {
    byteCount += length;
    if (byteCount > discardedBytesMax) finish();
  };
  const finish = () => over.abort();
  request.on('data', onData).on('end', finish).on('close', finish);
  if (request.readableEnded || request.destroyed) finish();
  return clock.sleep(discardMsMax, over.signal).then(() => {
    request.off('data', onData).off('end', finish).off('close', finish);
  });
}

interface GunzipListeners {
  readonly keep: (chunk: Uint8Array) => void;
  readonly finish: () => void;
  readonly refuse: (error: unknown) => void;
}

function listenToGunzip(gunzip: Gunzip, { keep, finish, refuse }: GunzipListeners): void {
  gunzip.on('data', keep).on('end', finish);
  gunzip.on('error', (cause) => refuse(new CodedError('body-not-gzip', {}, { cause })));
}

/** Collects chunks up to a limit. */
class ByteCollector {
  readonly #bytesMax: number;
  readonly #chunks: Uint8Array[] = [];
  #byteCount = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Uint8Array): boolean {
    this.#byteCount += chunk.length;
    if (this.#byteCount > this.#bytesMax) return false;
    this.#chunks.push(chunk);
    return true;
  }

  take(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}
