/**
 * One transaction with logs of many lengths, so that the runtime truncates it at each kind of line (an invoke, a text, the units, a
 * result), at every depth, and keeps shorter lines that still fit after the truncation mark.
 */
import { getAddMemoInstruction } from '@solana-program/memo';
import { memo } from './memo-scenarios.ts';
import { call } from './planned-transaction.ts';
import { cut, relay } from './relay-call.ts';
import { COMPUTE_BUDGET, MEMO_1, type Scenario, type World } from './world.ts';

const VARIANT_COUNT = 38;
// The step is shorter than most lines, so that the limit falls on nearly each of them.
const STEP_BYTES = 41;

function scenario(variant: number): Scenario {
  return async (world) => ({
    title: `a log cut ${variant * STEP_BYTES} bytes earlier`,
    overflows: true,
    payer: await world.wallet(`cut payer ${variant}`),
    calls: [
      ...Array(9).fill(memo('p'.repeat(652))),
      memo('q'.repeat(10 + variant * STEP_BYTES)),
      ...tail(world, variant),
    ],
    ...(isFailing(variant) && { err: '{"InstructionError":[11,"ProgramFailedToComplete"]}' }),
  });
}

function isFailing(variant: number): boolean {
  return variant % 2 === 1;
}

/** Two trees; every second variant ends with a failure in the second. */
function tail(world: World, variant: number) {
  const [one, two] = world.relays;
  const budget = call({ programAddress: COMPUTE_BUDGET, accounts: [], data: Uint8Array.of(9) });
  const old = call(getAddMemoInstruction({ memo: 'x' }, { programAddress: MEMO_1 }));
  const first = relay(one, ['in', relay(two, [budget, new Uint8Array(48), old], { return: 'r' })], {
    returned: 'cg==',
  });
  const second = isFailing(variant)
    ? cut(
        relay(one, [relay(two, ['fails'], { panic: 'w'.repeat(200) })]),
        'Program failed to complete',
      )
    : relay(one, [relay(two, ['ends'])]);
  return [first, second, memo('z')];
}

export const CUT_SCENARIOS: readonly Scenario[] = [...Array(VARIANT_COUNT).keys()].map(scenario);
