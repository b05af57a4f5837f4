/** Where every recorded call stands in the call tree, as far as the era lets a reader know. */
import type { EraRules } from '../eras.ts';
import type { Call } from '../simulated-block.ts';
import type { Observed } from './observe-log.ts';

/** In the order of execution. */
export function buildInstructionAddresses(
  calls: readonly Call[],
  era: EraRules,
  observed: Pick<Observed, 'started' | 'ended'>,
): Map<Call, readonly number[]> {
  const addresses = new Map<Call, readonly number[]>();
  calls.forEach((call, index) => {
    addresses.set(call, [index]);
    if (!era.hasMeta || !era.hasInner) return;
    if (era.isModern) addExact(call, [index], addresses);
    else addByLog(call, index, observed, addresses);
  });
  return addresses;
}

function addExact(
  parent: Call,
  address: readonly number[],
  addresses: Map<Call, readonly number[]>,
): void {
  parent.calls.forEach((call, index) => {
    const own = [...address, index];
    addresses.set(call, own);
    addExact(call, own, addresses);
  });
}

/**
 * Heights were not recorded, so the log tells them. A call whose start it does not show is put directly below the
 * top-level instruction, unless the end of its caller is shown: then it stands below that one.
 */
function addByLog(
  top: Call,
  index: number,
  observed: Pick<Observed, 'started' | 'ended'>,
  addresses: Map<Call, readonly number[]>,
): void {
  let previous: readonly number[] = [index];
  const visit = (parent: Call): void => {
    for (const call of parent.calls) {
      const isKnown = observed.started.has(call) || observed.ended.has(parent);
      const height = isKnown ? call.depth : 2;
      const kept = previous.slice(0, height);
      const last = kept.at(-1) as number;
      previous = kept.length === height ? [...kept.slice(0, -1), last + 1] : [...kept, 0];
      addresses.set(call, previous);
      visit(call);
    }
  };
  visit(top);
}
