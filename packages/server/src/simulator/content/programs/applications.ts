/**
 * The long tail of other programs: games, bots, registries. They move no tokens and no lamports, so that nothing has to be known
 * about them; what they are called with and what they print follows from the program's rank alone.
 */
import type { Random } from '../../../base/random.ts';
import { Random as Source } from '../../../base/random.ts';
import { Bands, buildZipfTable, Quantiles, type WeightedTable } from '../distributions.ts';
import {
  type Cause,
  DEPTH_MAX,
  type Machine,
  readonly,
  signer,
  writable,
} from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { rentOf } from '../world/tokens.ts';
import { APP_ACCOUNT_COUNT, APP_COUNT } from '../world/world.ts';
import { custom, named, TOO_LATE } from './causes.ts';

const EXPONENT = 1.15;
const BYTES = new Bands([
  [2, 3, 6],
  [8, 9, 20],
  [10, 24, 26],
  [25, 130, 34],
  [131, 400, 10],
  [401, 1000, 4],
]);
const ACCOUNTS = new Bands([
  [1, 1, 4],
  [2, 4, 20],
  [5, 8, 20],
  [9, 16, 30],
  [17, 18, 8],
  [19, 44, 18],
]);
const LINE_LENGTH = new Quantiles([
  [0, 6],
  [0.3, 40],
  [0.7, 150],
  [0.95, 276],
  [1, 700],
]);
const WORDS = 'amount price user pool vault tick fee in out base side order size slot limit'.split(
  ' ',
);

const CAUSES: readonly Cause[] = [
  custom(0, 'Error: the account is already in use'),
  custom(17, 'Error: account is frozen'),
  custom(30, 'Error: exceeds desired slippage limit'),
  TOO_LATE,
  custom(4_294_967_295),
  named('InvalidArgument', 'invalid program argument'),
  named('ProgramFailedToComplete', 'SBF program panicked'),
  named('ComputationalBudgetExceeded', 'Computational budget exceeded'),
  {
    detail: '{"BorshIoError":"Unknown"}',
    text: 'Failed to serialize or deserialize account data',
  },
];

/** Raised by the runtime before the program that it names was started. */
const REFUSALS: readonly Cause[] = [
  named('AccountNotExecutable', 'instruction expected an executable account'),
  named('UnsupportedProgramId', 'Unsupported program id'),
  named('MissingAccount', 'An account required by the instruction is missing'),
  named('CallDepth', 'Cross-program invocation call depth too deep'),
];

interface Kind {
  readonly name: string;
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
  readonly #known = new Map<number, Application>();
  readonly #source = Source.fromSeed(0).fork('applications');
  readonly #isStress: boolean;

  constructor({ isStress }: { readonly isStress: boolean }) {
    this.#isStress = isStress;
  }

  drawRank(random: Random): number {
    return this.#ranks.draw(random);
  }

  /** One instruction of an application; with `isDoomed` it fails. */
  call(
    vm: Machine,
    rank: number,
    { user, isDoomed }: { user: number; isDoomed: boolean },
  ): boolean {
    const application = this.#find(rank);
    const { random } = vm;
    const kind = application.kinds[random.below(application.kinds.length)] as Kind;
    const program = vm.world.apps + rank;
    const refs = this.#drawRefs(vm, rank, user, kind.accountCount);
    if (isDoomed && random.chance(this.#isStress ? 0.2 : 0.02)) {
      vm.refuse(program, refs, random.pick(REFUSALS));
      return false;
    }
    const data = this.#drawData(vm, rank, kind);
    if (!vm.enter(program, data, refs)) return false;
    this.#print(vm, application, kind);
    if (this.#isStress) this.#stress(vm, program);
    if (isDoomed && vm.error === null) this.#fail(vm, program);
    return vm.leave(kind.units + random.below(90));
  }

  #fail(vm: Machine, program: number): void {
    const cause = vm.random.pick(CAUSES);
    if (!this.#isStress || !vm.random.chance(0.3)) vm.fail(cause);
    else {
      const id = vm.pool.read(vm.book.address(program));
      vm.failRaw(cause, `${cause.text}\nProgram ${id} success\r\u2028end`);
    }
  }

  #print(vm: Machine, { prints, hasData, lines }: Application, { name }: Kind): void {
    const { random } = vm;
    if (prints) vm.print(`Instruction: ${name}`);
    for (let i = random.below(4); i > 0; i--) {
      vm.printNumber(random.pick(lines), random.below(10_000_000));
    }
    if (!hasData) return;
    const words = 10 + random.below(50);
    const event = vm.data.open(words * 4);
    for (let i = 0; i < words; i++) event.u32(random.uint32() | 0);
    vm.emit(event.done());
  }

  /** The program's own accounts, some that nobody else names, and the user. */
  #drawRefs(vm: Machine, rank: number, user: number, count: number): number[] {
    const { random, world } = vm;
    const refs = [signer(user)];
    for (let i = 1; i < count; i++) {
      if (i <= APP_ACCOUNT_COUNT) {
        refs.push(writable(world.appAccounts + rank * APP_ACCOUNT_COUNT + i - 1));
      } else if (random.chance(0.2)) refs.push(readonly(random.pick(COMMON)));
      else if (i > 16) refs.push(refs[1 + random.below(i - 1)] as number);
      else {
        const account = vm.scratch(random.chance(0.7) ? rentOf(200) : 0);
        refs.push(random.chance(0.6) ? writable(account) : readonly(account));
      }
    }
    return refs;
  }

  #drawData(vm: Machine, rank: number, { byteCount, name }: Kind) {
    const fixed = this.#source.fork(rank, name);
    const data = vm.data.open(byteCount);
    // The kind first, then what differs from call to call; long data has structure, which is the same in every other byte.
    for (let i = 0; i < byteCount; i++) {
      const isFixed = i < 8 || (byteCount > 64 && i % 2 === 0);
      data.u8(isFixed ? 1 + fixed.below(255) : vm.random.below(256));
    }
    return data.done();
  }

  /** What rarely happens elsewhere: calls up to nine deep, programs without lines, logs that overflow or imitate others. */
  #stress(vm: Machine, program: number): void {
    const { random } = vm;
    if (random.chance(0.6)) this.#printOddity(vm, program);
    if (random.chance(0.4)) {
      const data = vm.data.open(2).u16(1).done();
      if (vm.depth < DEPTH_MAX && vm.enter(program, data, [readonly(vm.world.reserve)])) {
        this.#stress(vm, program);
        this.#deepen(vm, program);
        vm.leave(700);
      }
    }
    if (random.chance(0.05)) vm.whisper(ID.signatureCheck);
  }

  #deepen(vm: Machine, program: number): void {
    if (vm.depth >= DEPTH_MAX || !vm.random.chance(0.8)) return;
    const data = vm.data.open(0).done();
    const refs = [readonly(vm.world.vastHolder), readonly(ID.token)];
    if (!vm.enter(program, data, refs)) return;
    this.#printOddity(vm, program);
    this.#deepen(vm, program);
    vm.leave(420);
  }

  #printOddity(vm: Machine, program: number): void {
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
    vm.log.line(role, vm.caller).raw(odd).end();
  }

  #find(rank: number): Application {
    let application = this.#known.get(rank);
    if (application === undefined) {
      application = build(this.#source.fork(rank));
      this.#known.set(rank, application);
    }
    return application;
  }
}

const COMMON = [ID.system, ID.token, ID.rentSysvar, ID.clockSysvar, ID.associated];

function build(random: Random): Application {
  const kinds = Array.from({ length: random.between(2, 8) }, (_, index) => {
    const verb = random.pick(['Update', 'Place', 'Cancel', 'Settle', 'Create', 'Claim']);
    const noun = random.pick(['Order', 'Position', 'State', 'Price', 'Bundle', 'Fees']);
    return {
      name: `${verb}${noun}${index === 0 ? '' : index}`,
      byteCount: BYTES.draw(random),
      accountCount: ACCOUNTS.draw(random),
      units: random.between(2200, 90_000),
    };
  });
  return {
    kinds,
    prints: random.chance(0.7),
    hasData: random.chance(0.4),
    lines: Array.from({ length: 8 }, () => buildLine(random)),
  };
}

function buildLine(random: Random): string {
  const length = LINE_LENGTH.draw(random);
  let line = random.pick(WORDS);
  while (line.length < length) line += `: ${random.below(1_000_000)}, ${random.pick(WORDS)}`;
  return `${line}: `;
}
