import { isIP } from 'node:net';
import type { Config } from './config-schema.ts';

/** The operator's port: one above the public one, unless it is said. */
export function adminPort({ listen, admin }: Pick<Config, 'listen' | 'admin'>): number {
  return admin.port ?? (listen.port === 0 ? 0 : listen.port + 1);
}

export interface Listener {
  readonly host: string;
  readonly port: number;
}

/** Whether the system would refuse to listen on both: one port of one address, or of all and one of them. */
export function isSameListener(a: Listener, b: Listener): boolean {
  return a.port !== 0 && a.port === b.port && (covers(a.host, b.host) || covers(b.host, a.host));
}

/** `::` is every address, also those of version 4. */
function covers(host: string, other: string): boolean {
  return host === other || host === '::' || (host === '0.0.0.0' && isIP(other) === 4);
}
