/** Addresses that a program derives: a hash that is not a point of the curve, so that no key can sign for it. */
import { createHash } from 'node:crypto';
import { assert } from '@sluice/base/assert';
import { isOnCurve } from '@sluice/base/ed25519';

const MARK = 'ProgramDerivedAddress';
const BUMP_FIRST = 255;

/** Returns the first address that is off the curve, counting the bump down from 255. */
export function deriveAddress(seeds: readonly Uint8Array[], program: Uint8Array): Uint8Array {
  for (let bump = BUMP_FIRST; bump >= 0; bump--) {
    const hash = createHash('sha256');
    for (const seed of seeds) hash.update(seed);
    const address = hash.update(Uint8Array.of(bump)).update(program).update(MARK).digest();
    if (!isOnCurve(address)) return address;
  }
  assert(false, 'half of all hashes are off the curve');
}
