/**
 * The keys that clients send. The key file holds one SHA-256 hash per line, in hex, with an optional name after it; `#`
 * starts a comment. The keys themselves are not stored.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { readSmallFile } from '../../storage/read-small-file.ts';

/** Enough for a hundred thousand keys. */
const keyFileBytesMax = 16 << 20;

export interface ApiKey {
  /** The name in the key file, or the start of the hash. Used in logs. */
  readonly name: string;
  readonly hash: Uint8Array;
}

/** Returns the identity of a key. Names are not unique: a client that changes its key has two under one name. */
export function keyId({ hash }: ApiKey): string {
  return Buffer.from(hash).toString('hex');
}

export function readKeyFile(file: string): readonly ApiKey[] {
  return parseKeys(readText(file), { file });
}

function readText(file: string): string {
  const unreadable = (cause: unknown) => {
    const reason = systemErrorCode(cause) ?? 'unknown';
    return new CodedError('cli-file-unreadable', { file, reason }, { cause });
  };
  try {
    return readSmallFile(file, keyFileBytesMax).toString();
  } catch (error) {
    throw isCodedError(error) ? error : unreadable(error);
  }
}

/** Parses the text of a key file. `detail` names the file in errors. */
export function parseKeys(
  text: string,
  detail: { readonly file?: string } = {},
): readonly ApiKey[] {
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

/** The keys of a list by the start of their hash. A list never changes; a reload creates another one. */
const indexes = new WeakMap<readonly ApiKey[], ReadonlyMap<number, readonly ApiKey[]>>();

const startOf = (hash: Uint8Array): number =>
  Buffer.from(hash.buffer, hash.byteOffset).readUInt32LE();

/**
 * Returns the configured key with this text, if there is one. The time does not depend on the number of keys. It may depend on the
 * start of the text's hash, which reveals nothing about a key: a client cannot choose a text whose hash begins like the hash of a key.
 */
export function findKey(shown: string, keys: readonly ApiKey[]): ApiKey | undefined {
  let index = indexes.get(keys);
  if (index === undefined) {
    index = indexByStart(keys);
    indexes.set(keys, index);
  }
  const hash = createHash('sha256').update(shown).digest();
  return index.get(startOf(hash))?.findLast((key) => timingSafeEqual(key.hash, hash));
}

function indexByStart(keys: readonly ApiKey[]): ReadonlyMap<number, readonly ApiKey[]> {
  const index = new Map<number, ApiKey[]>();
  for (const key of keys) {
    const start = startOf(key.hash);
    const others = index.get(start);
    if (others === undefined) index.set(start, [key]);
    else others.push(key);
  }
  return index;
}

/** Returns the key in the headers of a request, or `undefined`. */
export function shownKey({
  authorization,
  'x-api-key': apiKey,
}: IncomingHttpHeaders): string | undefined {
  if (typeof apiKey === 'string') return apiKey;
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
