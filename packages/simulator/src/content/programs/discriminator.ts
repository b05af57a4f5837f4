import { createHash } from 'node:crypto';

/** Returns the first eight bytes of the hash of a name, which identify the instructions and events of an Anchor program. */
export function discriminator(space: 'global' | 'event', name: string): Uint8Array {
  return createHash('sha256').update(`${space}:${name}`).digest().subarray(0, 8);
}

/** The first bytes of the data of an event that a program records by calling itself. */
export const EVENT_CALL = Uint8Array.from([0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d]);
