/** Sets of addresses that random queries refer to. The name of a set follows from its addresses, so that a seed reproduces a query. */
import { createHash } from 'node:crypto';
import { decodeBase58 } from '@sluice/base/base58';
import { type AddressSet, type AddressSets, buildSet } from '../address-set.ts';

export function makeSet(name: string, addresses: readonly string[]): AddressSet {
  const keys = [...new Set(addresses)].map((address) => decodeBase58(address) as Uint8Array);
  return buildSet(name, Buffer.concat(keys.sort(Buffer.compare)));
}

const known = new Map<string, AddressSet>();

/** Stores a set. Returns the value of a filter that refers to it. */
export function putTestSet(addresses: readonly string[]): { readonly set: string } {
  const name = createHash('sha256').update(addresses.join()).digest('hex');
  if (!known.has(name)) known.set(name, makeSet(name, addresses));
  return { set: name };
}

export const TEST_SETS: AddressSets = {
  find: (name) => known.get(name),
};
