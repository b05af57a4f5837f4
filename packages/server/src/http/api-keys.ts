/**
 * Keys that clients show. The file holds one SHA-256 a line, in hex, with an optional name after it; `#` begins a comment.
 * The keys themselves are nowhere.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { CodedError, type ErrorDetail, isCodedError } from '../base/errors.ts';
import { readSmallFile } from '../storage/read-small-file.ts';

/** A hundred thousand keys. */
const keyFileBytesMax = 16 << 20;

export interface ApiKey {
  /** For logs: the name in the file, or the start of the hash. */
  readonly name: string;
  readonly hash: Uint8Array;
}

/** What tells keys apart: several may have one name, as while a client goes over to a new one. */
export function keyId({ hash }: ApiKey): string {
  return Buffer.from(hash).toString('hex');
}

export function readKeyFile(file: string): readonly ApiKey[] {
  return parseKeys(readText(file), { file });
}

function readText(file: string): string {
  const unreadable = (cause: unknown) => {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    return new CodedError('cli-file-unreadable', { file, reason }, { cause });
  };
  try {
    return readSmallFile(file, keyFileBytesMax).toString();
  } catch (error) {
    throw isCodedError(error) ? error : unreadable(error);
  }
}

/** `detail` says whose text it is, where that is known. */
export function parseKeys(text: string, detail: ErrorDetail = {}): readonly ApiKey[] {
  const keys: ApiKey[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const content = line.replace(/#.*/, '').trim();
    if (content === '') continue;
    const [hash = '', name] = content.split(/\s+/, 2);
    if (!/^[0-9a-fA-F]{64}$/.test(hash)) {
      throw new CodedError('keys-invalid', { ...detail, line: index + 1 });
    }
    keys.push({ name: name ?? hash.slice(0, 8), hash: Buffer.from(hash, 'hex') });
  }
  return keys;
}

/** Returns the configured key with this text, if there is one. Takes the same time for every wrong text. */
export function findKey(shown: string, keys: readonly ApiKey[]): ApiKey | undefined {
  const hash = createHash('sha256').update(shown).digest();
  let found: ApiKey | undefined;
  for (const key of keys) {
    if (timingSafeEqual(hash, key.hash)) found = key;
  }
  return found;
}

/** Returns the text of the key that a request shows. */
export function shownKey({
  authorization,
  'x-api-key': apiKey,
}: IncomingHttpHeaders): string | undefined {
  if (typeof apiKey === 'string') return apiKey;
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
