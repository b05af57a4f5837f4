import { isIP } from 'node:net';
import { CodedError } from '../base/errors.ts';
import { type ApiKey, readKeyFile } from '../http/api-keys.ts';

export interface AccessOptions {
  readonly host: string;
  /** `none` is a decision that someone wrote down; `undefined` is none at all. */
  readonly auth?: 'none' | undefined;
  readonly keysFile?: string | undefined;
}

/** The keys of a service; `null` where anyone may ask. What leaves loopback open without a decision is refused. */
export function decideAccess({ host, auth, keysFile }: AccessOptions): readonly ApiKey[] | null {
  if (keysFile !== undefined) return readKeyFile(keysFile);
  if (auth === undefined && !isLoopback(host)) throw new CodedError('auth-undecided', { host });
  return null;
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
