import type { AddressInfo } from 'node:net';
import { assert } from './assert.ts';

/** Returns the port of a server that listens on TCP. */
export function listeningPort(server: { address(): AddressInfo | string | null }): number {
  const address = server.address();
  assert(typeof address === 'object' && address !== null, 'the server listens on a TCP port');
  return address.port;
}
