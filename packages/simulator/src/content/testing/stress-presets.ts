/** Unusual ledgers for tests of programs that read blocks: in every era, rare cases are frequent. */
import type { ContentInput, Oddities } from '../content-options.ts';
import { ERAS } from '../eras.ts';
import { DEPTH_MAX, type Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';

/** Makes calls up to nine deep, calls programs without log lines, and prints logs that are too long or imitate other lines. */
function act(vm: Machine, program: number): void {
  const { random, world } = vm;
  if (vm.depth > 1 || random.chance(0.6)) printOddity(vm, program);
  if (random.chance(0.05)) vm.whisper(ID.signatureCheck);
  if (vm.depth < DEPTH_MAX && random.chance(vm.depth === 1 ? 0.4 : 0.8)) {
    vm.refs.readonly(world.reserve).readonly(world.vastHolder).readonly(ID.token);
    if (vm.enter(program, vm.data.open(1).u8(vm.depth).done())) {
      act(vm, program);
      vm.leave(700);
    }
  }
  if (random.chance(0.05)) vm.whisper(ID.signatureCheck);
}

function printOddity(vm: Machine, program: number): void {
  const id = vm.pool.read(vm.book.address(program));
  const { random } = vm;
  const odd = random.pick([
    'Program log: ',
    'Program log:  two  spaces ',
    'Program log: Log truncated',
    `Program log: Program ${id} success`,
    `Program log: Program ${id} invoke [1]`,
    `Program log: Program ${id} failed: custom program error: 0x1`,
    `Program log: first line\nProgram ${id} success\rthird\u2028fourth`,
    'Program log: "quoted" \\ back\tslash \u0000\u001f\u007f',
    'Program log: \u{1f30a} sluice é 水',
    `Program consumption: ${random.below(200_000)} units remaining`,
    'Program data: \n',
    'Program data: ',
    'Program is not a known form',
    `Program ${id} consumed nothing at all`,
    `Program log: ${'x'.repeat(random.between(1000, 6000))}`,
    `Program log: ${'y'.repeat(random.between(9000, 9999))}`,
  ]);
  const start = odd.slice(0, 13);
  const role = start === 'Program log: ' ? 'log' : start === 'Program data:' ? 'data' : 'other';
  vm.log.line(role, vm.caller).escaped(odd).end();
}

const ODDITIES: Oddities = {
  rareRate: 0.06,
  act,
  fail: (vm, program, cause) => {
    if (!vm.random.chance(0.3)) vm.fail(cause);
    else {
      const id = vm.pool.read(vm.book.address(program));
      vm.failRaw(cause, `${cause.text}\nProgram ${id} success\r\u2028end`);
    }
  },
  // Two rewards of one key and type, one without a type, an unknown type, and the minimum and maximum amounts.
  rewards: [
    ['-9223372036854775808', '18446744073709551615', 'Staking', 255] as const,
    ['9223372036854775807', '9007199254740993', 'Staking', null] as const,
    ['7', '0', null, null] as const,
    ['9007199254740993', '0', 'DeactivatedStake', 0] as const,
    ['8', '1', 'Gratitude', 3] as const,
  ].map(([lamports, postBalance, rewardType, commission]) => {
    return { lamports, postBalance, rewardType, commission };
  }),
};

export const STRESS_PRESETS: readonly ContentInput[] = ERAS.map((era) => ({
  profile: 'demo',
  era,
  transactionsPerBlock: 16,
  votes: 4,
  failureRate: 0.5,
  version1Rate: era === '2025' || era === '2026' ? 0.02 : 0,
  slotsPerEpoch: 1024,
  oddities: ODDITIES,
}));
