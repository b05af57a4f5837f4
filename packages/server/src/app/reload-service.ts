import { isCodedError } from '@sluice/base/errors';
import { memberOf } from '@sluice/protocol/unknown-value';
import type { Logger } from 'pino';
import type { Config } from './config/config-schema.ts';
import type { LoadedConfig } from './config/load-config.ts';
import { decideAccess } from './listen-policy.ts';
import type { Service } from './service.ts';

export interface ReloadOptions {
  readonly service: Pick<Service, 'reload' | 'useIdls'>;
  readonly config: Config;
  readonly reread: () => LoadedConfig;
}

/** Applies keys, limits, IDLs and the log level of a changed configuration. An invalid configuration changes nothing. */
export function reloadService({ service, config, reread }: ReloadOptions, log: Logger): void {
  try {
    const loaded = reread();
    const next = loaded.config;
    const keys = decideAccess(loaded);
    service.reload(next.limits, keys);
    service.useIdls(next.idl);
    log.level = next.log.level;
    log.info({ keys: keys?.length ?? null }, 'reloaded keys, limits, IDLs and log level');
    const changed = findOthers(config, next);
    if (changed.length > 0) log.warn({ changed }, 'these changes take effect at the next start');
  } catch (error) {
    if (!isCodedError(error)) throw error;
    log.error({ code: error.code }, `the configuration was not reloaded: ${error.message}`);
  }
}

/** Returns the changed keys that a reload does not apply. */
function findOthers(before: Config, after: Config): string[] {
  return Object.entries(stripReloaded(after)).flatMap(([key, value]) => {
    const old = memberOf(stripReloaded(before), key);
    return JSON.stringify(old) === JSON.stringify(value) ? [] : [key];
  });
}

function stripReloaded({ limits: _limits, log: _log, idl: _idl, listen, ...rest }: Config): object {
  const { auth: _auth, keys: _keys, ...address } = listen;
  return { ...rest, listen: address };
}
