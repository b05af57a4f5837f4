import { isIP } from 'node:net';
import type { Config } from './config-schema.ts';

/** Returns the port for operators: one above the public port, unless it is configured. */
export function adminPort({ listen, admin }: Pick<Config, 'listen' | 'admin'>): number {
  return admin.port ?? (listen.port === 0 ? 0 : listen.port + 1);
}

export interface Listener {
  readonly host: string;
  readonly port: number;
}

/** Returns whether both listeners use the same port and overlapping addresses, which the system would reject. */
export function isSameListener(a: Listener, b: Listener): boolean {
  return a.port !== 0 && a.port === b.port && (covers(a.host, b.host) || covers(b.host, a.host));
}

/** `::` includes all addresses, also those of IPv4. */
function covers(host: string, other: string): boolean {
  return host === other || host === '::' || (host === '0.0.0.0' && isIP(other) === 4);
}
