/**
 * Other programs: games, bots, registries. They move neither tokens nor lamports. Their data and logs depend only on the rank of the
 * program.
 */
import { elementAt } from '@sluice/base/element-at';
import { Random } from '@sluice/base/random';
import type { ContentOptions, Oddities } from '../content-options.ts';
import { buildZipfTable, Quantiles, type WeightedTable } from '../distributions.ts';
import type { Cause, Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { POOL_COUNT, rentOf } from '../world/tokens.ts';
import { APP_ACCOUNT_COUNT, APP_COUNT } from '../world/world.ts';
import { custom, named, TOO_LATE } from './causes.ts';

const EXPONENT = 1.45;
/** The probability that a top-level application calls another one, the probability of a further call, and the maximum depth. */
const NESTED_RATE = 0.3;
const NESTED_AGAIN_RATE = 0.38;
const NESTED_DEPTH_MAX = 5;
/** The probability that a top-level application reads the reserves of a pool. */
const POOL_READ_RATE = 0.07;
/** The maximum number of accounts used only by one transaction, so that the keys fit into a message. */
const SCRATCH_COUNT_MAX = 14;
const BYTES = new Quantiles([
  [0, 2],
  [0.05, 8],
  [0.24, 10],
  [0.45, 25],
  [0.84, 130],
  [0.91, 400],
  [1, 1000],
]);
const ACCOUNTS = new Quantiles([
  [0, 2],
  [0.35, 8],
  [0.82, 17],
  [0.88, 19],
  [1, 34],
]);
const LINE_LENGTH = new Quantiles([
  [0, 6],
  [0.5, 26],
  [0.75, 150],
  [0.96, 240],
  [1, 700],
]);
const UNITS = new Quantiles([
  [0, 2200],
  [0.7, 18_000],
  [0.9, 60_000],
  [1, 110_000],
]);
const WORDS = 'amount price user pool vault tick fee in out base side order size slot limit'.split(
  ' ',
);
const COMMON = [ID.system, ID.token, ID.rentSysvar, ID.clockSysvar, ID.associated];

const CAUSES: readonly Cause[] = [
  custom(0, 'Error: the account is already in use'),
  custom(30, 'Error: exceeds desired slippage limit'),
  TOO_LATE,
  custom(4_294_967_295),
  named('InvalidArgument', 'invalid program argument'),
  named('ComputationalBudgetExceeded', 'Computational budget exceeded'),
  {
    detail: '{"BorshIoError":"Unknown"}',
    text: 'Failed to serialize or deserialize account data',
  },
];

/** Errors of the runtime before the called program starts. */
const REFUSALS: readonly Cause[] = [
  named('UnsupportedProgramId', 'Unsupported program id'),
  named('CallDepth', 'Cross-program invocation call depth too deep'),
];

interface Kind {
  /** The line that it prints first. */
  readonly opening: string;
  /** The first bytes of the data. */
  readonly start: Uint8Array;
  readonly byteCount: number;
  readonly accountCount: number;
  readonly units: number;
}

interface Application {
  readonly kinds: readonly Kind[];
  readonly prints: boolean;
  readonly hasData: boolean;
  readonly lines: readonly string[];
}

export class Applications {
  readonly #ranks: WeightedTable = buildZipfTable(APP_COUNT, EXPONENT);
  readonly #applications: readonly Application[];
  readonly #oddities: Oddities | null;

  constructor({ oddities }: Pick<ContentOptions, 'oddities'>) {
    this.#oddities = oddities;
    const source = Random.fromSeed(0).fork('applications');
    this.#applications = Array.from({ length: APP_COUNT }, (_, rank) => build(source.fork(rank)));
  }

  /** Runs one instruction of an application, chosen by popularity. With `isDoomed` it fails. */
  call(vm: Machine, { user, isDoomed }: { user: number; isDoomed: boolean }): void {
    const { random } = vm;
    const rank = this.#ranks.draw(random);
    const application = elementAt(this.#applications, rank);
    const kind = random.pick(application.kinds);
    const program = vm.world.apps + rank;
    this.#nameAccounts(vm, rank, user, kind.accountCount);
    if (vm.depth === 0 && random.chance(POOL_READ_RATE)) namePoolReads(vm);
    if (isDoomed && random.chance(this.#oddities === null ? 0.02 : 0.2)) {
      vm.refuse(program, random.pick(REFUSALS));
      return;
    }
    const data = vm.data.open(kind.byteCount).bytes(kind.start);
    for (let i = kind.start.length; i < kind.byteCount; i++) data.u8(random.below(256));
    if (!vm.enter(program, data.done())) return;
    this.#print(vm, application, kind);
    if (this.#oddities !== null) this.#oddities.act(vm, program);
    else if (random.chance(vm.depth === 1 ? NESTED_RATE : NESTED_AGAIN_RATE)) {
      if (vm.depth < NESTED_DEPTH_MAX) this.call(vm, { user, isDoomed: false });
    }
    if (isDoomed && vm.error === null) {
      const cause = random.pick(CAUSES);
      if (this.#oddities === null) vm.fail(cause);
      else this.#oddities.fail(vm, program, cause);
    }
    // A nested call costs less, so that the transaction stays within its units.
    vm.leave((vm.depth === 1 ? kind.units : kind.units >> 3) + random.below(90));
  }

  #print(vm: Machine, { prints, hasData, lines }: Application, { opening }: Kind): void {
    const { random } = vm;
    if (prints) vm.print(opening);
    for (let i = random.below(vm.depth === 1 ? 4 : 2); i > 0; i--) {
      vm.printNumber(random.pick(lines), random.below(10_000_000));
    }
    if (!hasData || random.chance(0.5)) return;
    const words = 10 + random.below(50);
    const event = vm.data.open(words * 4);
    for (let i = 0; i < words; i++) event.u32(random.uint32() | 0);
    vm.emit(event.done());
  }

  /** Names the user, the accounts of the program, and for a top-level instruction accounts that only this transaction uses. */
  #nameAccounts(vm: Machine, rank: number, user: number, count: number): void {
    const { random, world, refs } = vm;
    refs.signer(user);
    const end = vm.depth === 0 ? count : Math.min(count, 1 + APP_ACCOUNT_COUNT);
    for (let i = 1; i < end; i++) {
      if (i <= APP_ACCOUNT_COUNT) {
        refs.writable(world.appAccounts + rank * APP_ACCOUNT_COUNT + i - 1);
      } else if (random.chance(0.2)) refs.readonly(random.pick(COMMON));
      else if (vm.scratchCount >= SCRATCH_COUNT_MAX) refs.add(refs.at(1 + random.below(i - 1)));
      else {
        const account = vm.scratch(random.chance(0.7) ? rentOf(200) : 0);
        if (random.chance(0.6)) refs.writable(account);
        else refs.readonly(account);
      }
    }
  }
}

function build(random: Random): Application {
  const kinds = Array.from({ length: random.between(2, 8) }, (_, index) => {
    const verb = random.pick(['Update', 'Place', 'Cancel', 'Settle', 'Create', 'Claim']);
    const noun = random.pick(['Order', 'Position', 'State', 'Price', 'Bundle', 'Fees']);
    const byteCount = BYTES.draw(random);
    return {
      opening: `Instruction: ${verb}${noun}${index === 0 ? '' : index}`,
      start: Uint8Array.from({ length: Math.min(8, byteCount) }, () => 1 + random.below(255)),
      byteCount,
      accountCount: ACCOUNTS.draw(random),
      units: UNITS.draw(random),
    };
  });
  const lines = Array.from({ length: 8 }, () => buildLine(random));
  return { kinds, prints: random.chance(0.6), hasData: random.chance(0.2), lines };
}

/** Names the token accounts of a random pool whose reserves an application reads. */
function namePoolReads({ random, world, refs }: Machine): void {
  const first = random.below(POOL_COUNT) * 2;
  refs.readonly(ID.token);
  refs.readonly(world.vaults + first).readonly(world.vaults + first + 1);
  refs.readonly(world.feeVaults + first).readonly(world.feeVaults + first + 1);
}

function buildLine(random: Random): string {
  const length = LINE_LENGTH.draw(random);
  let line = random.pick(WORDS);
  while (line.length < length) line += `: ${random.below(1_000_000)}, ${random.pick(WORDS)}`;
  return `${line}: `;
}
