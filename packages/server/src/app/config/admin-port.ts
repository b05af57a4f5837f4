import type { Config } from './config-schema.ts';

/** The operator's port: one above the public one, unless it is said. */
export function adminPort({ listen, admin }: Pick<Config, 'listen' | 'admin'>): number {
  return admin.port ?? (listen.port === 0 ? 0 : listen.port + 1);
}
