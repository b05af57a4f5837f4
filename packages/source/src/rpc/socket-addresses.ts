import { parseSourceUrl } from './rpc-client.ts';

/**
 * Returns the possible WebSocket addresses of a node in the order to try: the same address, which providers use, and one port
 * higher, which nodes use.
 */
export function socketAddresses(rpcUrl: string): string[] {
  const same = parseSourceUrl(rpcUrl);
  same.protocol = same.protocol === 'https:' ? 'wss:' : 'ws:';
  if (same.port === '') return [same.href];
  const above = new URL(same.href);
  above.port = String(Number(same.port) + 1);
  return [same.href, above.href];
}
