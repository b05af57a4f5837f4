import { isIP } from 'node:net';
import { CodedError } from '../base/errors.ts';
import { type ApiKey, readKeyFile } from '../http/api-keys.ts';
import type { Config } from './config/config-schema.ts';

/** `auth: none` is a decision that someone wrote down; no `auth` is none at all. */
export type AccessChoice = Pick<Config['listen'], 'host' | 'auth' | 'keys'>;

/** The keys of a service; `null` where anyone may ask. What leaves loopback open without a decision is refused. */
export function decideAccess({ host, auth, keys }: AccessChoice): readonly ApiKey[] | null {
  if (keys !== undefined) return readKeyFile(keys);
  if (auth === undefined && !isLoopback(host)) throw new CodedError('auth-undecided', { host });
  return null;
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
