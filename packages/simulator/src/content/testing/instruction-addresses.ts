/** The position of every recorded call in the call tree, as far as a reader can determine it in an era. */
import type { EraRules } from '../eras.ts';
import type { Call } from '../simulated-block.ts';
import type { Observed } from './observe-log.ts';

/** Returns the positions in execution order. */
export function buildInstructionAddresses(
  calls: readonly Call[],
  era: EraRules,
  observed: Observed,
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

/** Heights were not recorded, so they are derived from the log as far as it is complete. */
function addByLog(
  top: Call,
  index: number,
  observed: Observed,
  addresses: Map<Call, readonly number[]>,
): void {
  let previous: readonly number[] = [index];
  const visit = (ancestors: readonly Call[]): void => {
    const parent = ancestors.at(-1) as Call;
    for (const call of parent.calls) {
      const height = observed.started.has(call)
        ? call.depth
        : guessHeight(call, ancestors, observed);
      const kept = previous.slice(0, height);
      const last = kept.at(-1) as number;
      previous = kept.length === height ? [...kept.slice(0, -1), last + 1] : [...kept, 0];
      addresses.set(call, previous);
      visit([...ancestors, call]);
    }
  };
  visit([top]);
}

/**
 * Returns the height of a call whose start is not in the log. It is the height of the next line about a call: the start of a later call
 * of the same caller, or the failure of the caller. A caller that succeeded may or may not have made the call, so the lines after it
 * decide. Without such a line the call counts as one of the top-level instruction.
 */
function guessHeight(call: Call, ancestors: readonly Call[], observed: Observed): number {
  const parent = ancestors.at(-1);
  if (parent === undefined) return 2;
  const later = parent.calls.slice(parent.calls.indexOf(call) + 1);
  if (later.some((sibling) => observed.started.has(sibling))) return call.depth;
  if (!observed.ended.has(parent)) return 2;
  if (observed.errors.has(parent)) return call.depth;
  return guessHeight(parent, ancestors.slice(0, -1), observed);
}
