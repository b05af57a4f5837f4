import { createHash } from 'node:crypto';

/** The first eight bytes of the hash of a name, which tell instructions and events of an Anchor program apart. */
export function discriminator(space: 'global' | 'event', name: string): Uint8Array {
  return createHash('sha256').update(`${space}:${name}`).digest().subarray(0, 8);
}

/** Before the data of an event that a program leaves by calling itself. */
export const EVENT_CALL = Uint8Array.from([0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d]);
