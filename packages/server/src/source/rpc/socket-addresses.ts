import { parseSourceUrl } from './rpc-client.ts';

/**
 * Where a node may offer its WebSocket, in the order to try: at the same address, as services in front of nodes have it,
 * else one port higher, as nodes themselves do.
 */
export function socketAddresses(rpcUrl: string): string[] {
  const same = parseSourceUrl(rpcUrl);
  same.protocol = same.protocol === 'https:' ? 'wss:' : 'ws:';
  if (same.port === '') return [same.href];
  const above = new URL(same.href);
  above.port = String(Number(same.port) + 1);
  return [same.href, above.href];
}
