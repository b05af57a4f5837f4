/**
 * Logs that overflow although the transaction is as small as the ledger requires, because the runtime adds lines for each instruction. The
 * limit falls on different positions of a call tree, complete or failing.
 */
import { memo } from './memo-scenarios.ts';
import { cut, relay } from './relay-call.ts';
import type { Scenario, World } from './world.ts';

// A memo adds about 250 bytes of log. So the lines of the tree are at the limit of 10,000 bytes, before or after it.
const MEMO_COUNTS = [36, 37, 38, 39, 40];
const FILLER_BYTES = [0, 80, 160];

function scenario(memoCount: number, fillerBytes: number): Scenario {
  const fails = memoCount % 2 === 1;
  return async (world) => ({
    title: `a small transaction of ${memoCount} memos and ${fillerBytes} bytes that overflows its log`,
    overflows: true,
    payer: await world.wallet(`small cut payer ${memoCount} ${fillerBytes}`),
    calls: [
      ...Array(memoCount - 1).fill(memo('')),
      memo('q'.repeat(fillerBytes)),
      fails ? failingTree(world) : wholeTree(world),
      memo('z'),
    ],
    ...(fails && { err: `{"InstructionError":[${memoCount},{"Custom":6001}]}` }),
  });
}

function wholeTree({ relays: [one, two] }: World) {
  const inner = relay(two, [Uint8Array.of(1, 2, 3)], { return: 'r' });
  return relay(one, ['in', relay(one, [inner, memo('m')]), 'out'], {});
}

function failingTree({ relays: [one, two] }: World) {
  const text = 'custom program error: 0x1771';
  const failing = relay(two, ['deep'], { fail: { code: 6001n, text } });
  return cut(relay(one, ['in', cut(relay(one, [memo('m'), failing]), text)]), text);
}

export const SMALL_CUT_SCENARIOS: readonly Scenario[] = MEMO_COUNTS.flatMap((memoCount) =>
  FILLER_BYTES.map((fillerBytes) => scenario(memoCount, fillerBytes)),
);
