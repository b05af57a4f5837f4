import { CodedError, isCodedError } from '../base/errors.ts';
import { type ApiKey, readKeyFile } from '../http/keys/api-keys.ts';
import { isOpenUndecided } from './config/check-config.ts';
import type { Config } from './config/config-schema.ts';
import type { LoadedConfig } from './config/load-config.ts';

/** `auth: none` is a decision that someone wrote down; no `auth` is none at all. */
type AccessChoice = Pick<Config['listen'], 'host' | 'auth' | 'keys'>;

/** As much of a configuration as says who may ask, and where that is written. */
export interface AccessConfig extends Pick<LoadedConfig, 'tree' | 'file'> {
  readonly config: { readonly listen: AccessChoice };
}

/** The keys of a service; `null` where anyone may ask. What leaves loopback open without a decision is refused. */
export function decideAccess(access: AccessConfig): readonly ApiKey[] | null {
  const { listen } = access.config;
  if (isOpenUndecided(listen)) throw new CodedError('auth-undecided', { host: listen.host });
  if (listen.keys === undefined) return null;
  try {
    return readKeyFile(listen.keys);
  } catch (error) {
    throw isCodedError(error) ? nameKey(error, access) : error;
  }
}

/** By key and line, if a file names the keys; an option or a variable is known by the key file alone. */
function nameKey(fault: CodedError, { config, tree, file = '' }: AccessConfig): CodedError {
  const place = tree.places.get('listen.keys');
  if (place === undefined) return fault;
  const { file: keyFile, line: keyLine, ...detail } = fault.detail;
  return new CodedError(
    'config-value-invalid',
    {
      ...{ file, key: 'listen.keys', line: place.line },
      found: JSON.stringify(place.template ?? keyFile ?? config.listen.keys),
      expected: 'a key file',
      fault: fault.code,
      ...detail,
      ...(keyLine === undefined ? {} : { keyLine }),
    },
    { cause: fault },
  );
}
