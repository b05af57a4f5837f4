import { CodedError } from '../base/errors.ts';
import { type ApiKey, readKeyFile } from '../http/api-keys.ts';
import { isOpenUndecided } from './config/check-config.ts';
import type { Config } from './config/config-schema.ts';

/** `auth: none` is a decision that someone wrote down; no `auth` is none at all. */
export type AccessChoice = Pick<Config['listen'], 'host' | 'auth' | 'keys'>;

/** The keys of a service; `null` where anyone may ask. What leaves loopback open without a decision is refused. */
export function decideAccess(choice: AccessChoice): readonly ApiKey[] | null {
  const { host, keys } = choice;
  if (keys !== undefined) return readKeyFile(keys);
  if (isOpenUndecided(choice)) throw new CodedError('auth-undecided', { host });
  return null;
}
