/**
 * The applications of the ledger: six written down, since they make half of all application instructions and must look
 * the same under every seed, and three thousand made from the seed.
 */
import type { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import type { AddressBook } from './address-book.ts';
import { buildDataTemplate } from './base58-text.ts';
import {
  Bands,
  Choice,
  portableExp,
  portableLn,
  Quantiles,
  WeightedTable,
} from './distributions.ts';
import {
  buildProgramText,
  type InstructionKind,
  type LineTemplate,
  type Program,
} from './program.ts';

const PROGRAM_COUNT = 3000;
const EVENT_START = [0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d];

/** In which place of a call tree an application is met. */
export type AppPlace = 'alone' | 'router' | 'venue';

/** Shares of the first ranks by place; what follows falls with the rank's power of 1.7. */
const HEAD_SHARES: Readonly<Record<AppPlace, readonly number[]>> = {
  alone: [19, 33, 1, 6, 12, 8],
  router: [1, 12, 50, 2, 3, 2],
  venue: [58, 2, 4, 13, 2, 4],
};
const TAIL_SHARE: Readonly<Record<AppPlace, number>> = { alone: 40, router: 36, venue: 28 };

interface AppTraits {
  readonly bytes: Bands;
  readonly accounts: Bands;
  readonly kindCount: number;
  /** First bytes of all its instructions; undefined for eight bytes a kind. */
  readonly start?: readonly number[];
  readonly opens: boolean;
  readonly hasEvents: boolean;
  readonly lineCount: Bands;
  readonly dataRate: number;
  readonly returnRate: number;
}

const TAIL_BYTES = new Bands([
  [2, 3, 4],
  [8, 9, 22],
  [10, 24, 27],
  [25, 130, 36],
  [131, 400, 6],
  [401, 1213, 8],
]);
const TAIL_ACCOUNTS = new Bands([
  [1, 1, 6],
  [2, 4, 20],
  [5, 8, 16],
  [9, 16, 30],
  [17, 18, 8],
  [19, 66, 20],
]);

const HEAD: readonly AppTraits[] = [
  {
    bytes: new Bands([[17, 17, 1]]),
    accounts: new Bands([[17, 18, 1]]),
    kindCount: 1,
    start: [9],
    opens: false,
    hasEvents: false,
    lineCount: new Bands([[1, 1, 1]]),
    dataRate: 0,
    returnRate: 0,
  },
  {
    bytes: new Bands([
      [10, 24, 1],
      [25, 130, 2],
    ]),
    accounts: new Bands([
      [9, 16, 3],
      [3, 8, 1],
    ]),
    kindCount: 4,
    opens: true,
    hasEvents: false,
    lineCount: new Bands([[3, 7, 1]]),
    dataRate: 0,
    returnRate: 0,
  },
  {
    bytes: new Bands([[25, 130, 1]]),
    accounts: new Bands([
      [9, 18, 1],
      [19, 46, 3],
    ]),
    kindCount: 5,
    opens: true,
    hasEvents: true,
    lineCount: new Bands([[0, 1, 1]]),
    dataRate: 0,
    returnRate: 0.7,
  },
  {
    bytes: new Bands([
      [24, 24, 1],
      [42, 42, 1],
    ]),
    accounts: new Bands([[11, 17, 1]]),
    kindCount: 6,
    opens: true,
    hasEvents: true,
    lineCount: new Bands([[0, 2, 1]]),
    dataRate: 1.8,
    returnRate: 0,
  },
  {
    bytes: new Bands([
      [8, 9, 2],
      [25, 130, 1],
    ]),
    accounts: new Bands([[2, 6, 1]]),
    kindCount: 3,
    opens: true,
    hasEvents: false,
    lineCount: new Bands([[0, 2, 1]]),
    dataRate: 0,
    returnRate: 0,
  },
  {
    bytes: new Bands([
      [10, 24, 2],
      [131, 300, 1],
    ]),
    accounts: new Bands([
      [4, 9, 1],
      [12, 16, 1],
    ]),
    kindCount: 8,
    opens: true,
    hasEvents: false,
    lineCount: new Bands([[0, 3, 1]]),
    dataRate: 1,
    returnRate: 0.1,
  },
];

const LINE_LENGTH = new Quantiles([
  [0, 6],
  [0.4, 30],
  [0.8, 135],
  [0.96, 276],
  [1, 900],
]);
const WORDS =
  'amount price user pool vault oracle tick fee in out base quote side order size slot limit swap state mint balance rate index reserve liquidity min max delta position margin'.split(
    ' ',
  );

export class ProgramCatalogue {
  readonly #random: Random;
  readonly #book: AddressBook;
  readonly #programs = new Map<number, Program>();
  readonly #tables: Readonly<Record<AppPlace, WeightedTable>>;

  constructor(random: Random, book: AddressBook) {
    this.#random = random;
    this.#book = book;
    this.#tables = {
      alone: buildShares('alone'),
      router: buildShares('router'),
      venue: buildShares('venue'),
    };
  }

  drawApp(place: AppPlace, random: Random): Program {
    return this.app(this.#tables[place].draw(random));
  }

  /** The application of a rank; the same for the whole ledger. */
  app(rank: number): Program {
    const known = this.#programs.get(rank);
    if (known !== undefined) return known;
    const program = this.#build(rank);
    this.#programs.set(rank, program);
    return program;
  }

  #build(rank: number): Program {
    const random = this.#random.fork('app', rank);
    const id = this.#book.pool.read(this.#book.address('program', rank)) as Address;
    const traits = HEAD[rank] ?? drawTraits(random);
    const kinds = Array.from({ length: traits.kindCount }, (_, index) => {
      return [buildKind(traits, index, random), 1 / (index + 1)] as const;
    });
    return {
      id,
      rank,
      role: 'app',
      isNative: false,
      kinds: new Choice(kinds),
      event: traits.hasEvents ? buildEvent(random) : undefined,
      lineCount: traits.lineCount,
      lines: Array.from({ length: 8 }, () => buildLine(random)),
      dataRate: traits.dataRate,
      returnRate: traits.returnRate,
      text: buildProgramText(id),
    };
  }
}

function buildShares(place: AppPlace): WeightedTable {
  const head = HEAD_SHARES[place];
  const weights = new Float64Array(PROGRAM_COUNT);
  let tail = 0;
  for (let rank = head.length; rank < PROGRAM_COUNT; rank++) {
    weights[rank] = portableExp(-1.7 * portableLn(rank + 1));
    tail += weights[rank] as number;
  }
  for (let rank = 0; rank < PROGRAM_COUNT; rank++) {
    const share = (weights[rank] as number) * (TAIL_SHARE[place] / tail);
    weights[rank] = head[rank] ?? share;
  }
  return new WeightedTable(weights);
}

function drawTraits(random: Random): AppTraits {
  return {
    bytes: TAIL_BYTES,
    accounts: TAIL_ACCOUNTS,
    kindCount: random.between(2, 12),
    opens: random.chance(0.7),
    hasEvents: random.chance(0.35),
    lineCount: new Bands([[0, random.between(0, 4), 1]]),
    dataRate: random.chance(0.3) ? 1.4 : 0,
    returnRate: random.chance(0.25) ? 0.5 : 0,
  };
}

function buildKind(traits: AppTraits, index: number, random: Random): InstructionKind {
  const byteCount = traits.bytes.draw(random);
  const own = Array.from({ length: Math.min(8, byteCount) }, () => random.between(1, 255));
  const accounts = traits.accounts.draw(random);
  const verb = random.pick(['Swap', 'Update', 'Place', 'Cancel', 'Settle', 'Create', 'Claim']);
  const noun = random.pick(['Order', 'Position', 'V2', 'Price', 'Bundle', 'Fees', 'State']);
  const units = random.between(2200, 16_000);
  return {
    data: buildDataTemplate(traits.start ?? own, byteCount),
    // Long data is mostly structure: the same with a few values changed.
    variantCount: byteCount > 64 ? 40 : undefined,
    accountCount: new Bands([[accounts, accounts + (accounts > 16 ? 1 : 0), 1]]),
    opening: traits.opens ? `Instruction: ${verb}${noun}${index === 0 ? '' : index}` : undefined,
    remark: undefined,
    returns: undefined,
    units: new Bands([
      [units, units * 2, 6],
      [units * 2, units * 8, 3],
      [units * 8, units * 18, 1],
    ]),
  };
}

function buildEvent(random: Random): InstructionKind {
  const byteCount = random.between(100, 240);
  const own = Array.from({ length: 8 }, () => random.between(1, 255));
  return {
    data: buildDataTemplate([...EVENT_START, ...own], byteCount),
    variantCount: 300,
    accountCount: new Bands([[1, 1, 1]]),
    opening: undefined,
    remark: undefined,
    returns: undefined,
    units: new Bands([[470, 520, 1]]),
  };
}

function buildLine(random: Random): LineTemplate {
  const length = LINE_LENGTH.draw(random);
  const pieces: string[] = [];
  let piece = random.pick(WORDS);
  for (let size = piece.length; size < length; ) {
    pieces.push(`${piece}: `);
    piece = `, ${random.pick(WORDS)}`;
    size += piece.length + 8;
  }
  pieces.push(piece);
  return { pieces, numberEnd: 10_000_000 };
}
