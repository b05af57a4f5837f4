/**
 * Programs outside the cast: games, bots, registries. They move neither tokens nor lamports. Their data and logs follow from the
 * program's rank alone.
 */
import { Random } from '../../../base/random.ts';
import { buildZipfTable, Quantiles, type WeightedTable } from '../distributions.ts';
import {
  type Cause,
  DEPTH_MAX,
  type Machine,
  readonly,
  readonlys,
  signer,
  writable,
} from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { rentOf } from '../world/tokens.ts';
import { APP_ACCOUNT_COUNT, APP_COUNT } from '../world/world.ts';
import { custom, named, TOO_LATE } from './causes.ts';

const EXPONENT = 1.27;
/** How often a top-level application calls another one, how often that one does, and how deep such calls go. */
const NESTED_RATE = 0.14;
const NESTED_AGAIN_RATE = 0.55;
const NESTED_DEPTH_MAX = 5;
const NAMED_COUNT_MAX = 14;
const BYTES = new Quantiles([
  [0, 2],
  [0.05, 8],
  [0.24, 10],
  [0.49, 25],
  [0.82, 130],
  [0.91, 400],
  [1, 1000],
]);
const ACCOUNTS = new Quantiles([
  [0, 1],
  [0.44, 8],
  [0.74, 17],
  [0.82, 19],
  [1, 45],
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

/** Raised by the runtime before the program that it names was started. */
const REFUSALS: readonly Cause[] = [
  named('UnsupportedProgramId', 'Unsupported program id'),
  named('CallDepth', 'Cross-program invocation call depth too deep'),
];

interface Kind {
  readonly name: string;
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
  readonly #known = new Map<number, Application>();
  readonly #source = Random.fromSeed(0).fork('applications');
  readonly #isStress: boolean;

  constructor({ isStress }: { readonly isStress: boolean }) {
    this.#isStress = isStress;
  }

  /** One instruction of an application that is drawn by popularity; with `isDoomed` it fails. */
  call(vm: Machine, { user, isDoomed }: { user: number; isDoomed: boolean }): void {
    const { random } = vm;
    const rank = this.#ranks.draw(random);
    const application = this.#find(rank);
    const kind = random.pick(application.kinds);
    const program = vm.world.apps + rank;
    const refs = this.#drawRefs(vm, rank, user, kind.accountCount);
    if (isDoomed && random.chance(this.#isStress ? 0.2 : 0.02)) {
      vm.refuse(program, refs, random.pick(REFUSALS));
      return;
    }
    const data = vm.data.open(kind.byteCount).bytes(kind.start);
    for (let i = kind.start.length; i < kind.byteCount; i++) data.u8(random.below(256));
    if (!vm.enter(program, data.done(), refs)) return;
    this.#print(vm, application, kind);
    if (this.#isStress) this.#stress(vm, program);
    else if (random.chance(vm.depth === 1 ? NESTED_RATE : NESTED_AGAIN_RATE)) {
      if (vm.depth < NESTED_DEPTH_MAX) this.call(vm, { user, isDoomed: false });
    }
    if (isDoomed && vm.error === null) this.#fail(vm, program);
    // A nested call costs less, so that the units of a transaction suffice.
    vm.leave((vm.depth === 1 ? kind.units : kind.units >> 3) + random.below(90));
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
    for (let i = random.below(vm.depth === 1 ? 4 : 2); i > 0; i--) {
      vm.printNumber(random.pick(lines), random.below(10_000_000));
    }
    if (!hasData) return;
    const words = 10 + random.below(50);
    const event = vm.data.open(words * 4);
    for (let i = 0; i < words; i++) event.u32(random.uint32() | 0);
    vm.emit(event.done());
  }

  /** The user, the program's own accounts, and in a top-level instruction accounts of this transaction alone. */
  #drawRefs(vm: Machine, rank: number, user: number, count: number): number[] {
    const { random, world } = vm;
    const refs = [signer(user)];
    const end = vm.depth === 0 ? count : Math.min(count, 1 + APP_ACCOUNT_COUNT);
    for (let i = 1; i < end; i++) {
      if (i <= APP_ACCOUNT_COUNT) {
        refs.push(writable(world.appAccounts + rank * APP_ACCOUNT_COUNT + i - 1));
      } else if (random.chance(0.2)) refs.push(readonly(random.pick(COMMON)));
      else if (i > NAMED_COUNT_MAX) refs.push(refs[1 + random.below(i - 1)] as number);
      else {
        const account = vm.scratch(random.chance(0.7) ? rentOf(200) : 0);
        refs.push(random.chance(0.6) ? writable(account) : readonly(account));
      }
    }
    return refs;
  }

  /** Makes rare things frequent: calls up to nine deep, programs without lines, logs that overflow or imitate others. */
  #stress(vm: Machine, program: number): void {
    const { random, world } = vm;
    if (vm.depth > 1 || random.chance(0.6)) this.#printOddity(vm, program);
    if (vm.depth < DEPTH_MAX && random.chance(vm.depth === 1 ? 0.4 : 0.8)) {
      const refs = readonlys(world.reserve, world.vastHolder, ID.token);
      if (vm.enter(program, vm.data.open(1).u8(vm.depth).done(), refs)) {
        this.#stress(vm, program);
        vm.leave(700);
      }
    }
    if (vm.depth === 1 && random.chance(0.05)) vm.whisper(ID.signatureCheck);
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
    vm.log.line(role, vm.caller).escaped(odd).end();
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

function build(random: Random): Application {
  const kinds = Array.from({ length: random.between(2, 8) }, (_, index) => {
    const verb = random.pick(['Update', 'Place', 'Cancel', 'Settle', 'Create', 'Claim']);
    const noun = random.pick(['Order', 'Position', 'State', 'Price', 'Bundle', 'Fees']);
    const byteCount = BYTES.draw(random);
    return {
      name: `${verb}${noun}${index === 0 ? '' : index}`,
      start: Uint8Array.from({ length: Math.min(8, byteCount) }, () => 1 + random.below(255)),
      byteCount,
      accountCount: ACCOUNTS.draw(random),
      units: random.between(2200, 90_000),
    };
  });
  const lines = Array.from({ length: 8 }, () => buildLine(random));
  return { kinds, prints: random.chance(0.6), hasData: random.chance(0.4), lines };
}

function buildLine(random: Random): string {
  const length = LINE_LENGTH.draw(random);
  let line = random.pick(WORDS);
  while (line.length < length) line += `: ${random.below(1_000_000)}, ${random.pick(WORDS)}`;
  return `${line}: `;
}
