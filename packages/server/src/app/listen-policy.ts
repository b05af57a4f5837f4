import { CodedError, type ErrorCode, isCodedError, knownDetail } from '@sluice/base/errors';
import { type ApiKey, readKeyFile } from '../http/keys/api-keys.ts';
import { isOpenUndecided } from './config/check-config.ts';
import type { Config } from './config/config-schema.ts';
import type { LoadedConfig } from './config/load-config.ts';

/** `auth: none` is an explicit decision; an absent `auth` is not. */
type AccessChoice = Pick<Config['listen'], 'host' | 'auth' | 'keys'>;

/** The part of a configuration that controls access, with its positions in the file. */
export interface AccessConfig extends Pick<LoadedConfig, 'tree' | 'file'> {
  readonly config: { readonly listen: AccessChoice };
}

/** Returns the keys of a service, or `null` if no key is needed. Rejects a public address without keys or an explicit `auth: none`. */
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

/** Adds the key and the line of the configuration to the error, if a configuration file names the key file. */
function nameKey(fault: CodedError, { config, tree, file = '' }: AccessConfig): CodedError {
  const origin = tree.origins.get('listen.keys');
  if (origin === undefined) return fault;
  const { file: keyFile, line: keyLine, ...detail } = fault.detail;
  return new CodedError<ErrorCode>(
    'config-value-invalid',
    ...knownDetail(
      {
        ...{ file, key: 'listen.keys', line: origin.line },
        found: JSON.stringify(origin.template ?? keyFile ?? config.listen.keys),
        expected: 'a key file',
        fault: fault.code,
        ...detail,
        ...(keyLine === undefined ? {} : { keyLine }),
      },
      { cause: fault },
    ),
  );
}
