/** Which of a transaction's keys each of its calls names, and with which data it is called. */
import { assert } from '../../base/assert.ts';
import type { Random } from '../../base/random.ts';
import { DigitTape, drawData } from './base58-text.ts';
import type { CallDraft } from './call-draft.ts';
import { countWritable, type Key, type KeyList, writableIndex } from './key-list.ts';
import type { InstructionKind, Program } from './program.ts';
import type { Call } from './simulated-block.ts';
import type { PooledText, TextPool } from './text-pool.ts';

/** Where data that comes again and again is made: a pure function of the kind and the variant's number. */
export class DataVariants {
  readonly #random: Random;
  readonly #pool: TextPool;
  readonly #tape: DigitTape;
  readonly #known = new Map<InstructionKind, PooledText[]>();

  constructor(random: Random, pool: TextPool) {
    this.#random = random;
    this.#pool = pool;
    this.#tape = new DigitTape(random);
  }

  draw(program: Program, kind: InstructionKind, tape: DigitTape): PooledText {
    if (kind.variantCount === undefined || kind.data.freeCount === 0) {
      return drawData(kind.data, tape, this.#pool.passing);
    }
    // Squaring favours the first variants.
    const unit = tape.random.unit();
    const variant = Math.floor(unit * unit * kind.variantCount);
    let texts = this.#known.get(kind);
    if (texts === undefined) {
      texts = [];
      this.#known.set(kind, texts);
    }
    texts[variant] ??= this.#build(program, kind, variant);
    return texts[variant] as PooledText;
  }

  #build({ id }: Program, { data }: InstructionKind, variant: number): PooledText {
    const random = this.#random.fork(id, data.fixed, data.freeCount, variant);
    this.#tape.restart(random, data.freeCount);
    return drawData(data, this.#tape, this.#pool.lasting);
  }
}

export class CallFiller {
  readonly #variants: DataVariants;

  constructor(random: Random, pool: TextPool) {
    this.#variants = new DataVariants(random, pool);
  }

  fill(drafts: readonly CallDraft[], list: KeyList, tape: DigitTape): Call[] {
    const marketIndexes: number[] = [];
    for (let i = 0; i < list.keys.length; i++) {
      if ((list.keys[i] as Key).role === 'market') marketIndexes.push(i);
    }
    return this.#fill(drafts, { list, marketIndexes, writableCount: countWritable(list) }, tape);
  }

  #fill(drafts: readonly CallDraft[], context: FillContext, tape: DigitTape): Call[] {
    const calls: Call[] = [];
    for (const draft of drafts) {
      calls.push({
        programId: draft.program.id,
        programIndex: findProgram(context.list, draft.program),
        accounts: drawAccounts(draft, context, tape.random),
        data: this.#variants.draw(draft.program, draft.kind, tape),
        depth: draft.depth,
        calls: draft.calls.length === 0 ? NO_CALLS : this.#fill(draft.calls, context, tape),
        ran: draft.ran,
      });
    }
    return calls;
  }
}

const NO_CALLS: readonly Call[] = [];

interface FillContext {
  readonly list: KeyList;
  readonly marketIndexes: readonly number[];
  readonly writableCount: number;
}

/** Programs stand at the end of the static keys or of the loaded ones. */
function findProgram({ keys }: KeyList, program: Program): number {
  for (let i = keys.length - 1; i >= 0; i--) if ((keys[i] as Key).program === program) return i;
  assert(false, 'the key list holds every program that is called');
}

function drawAccounts(call: CallDraft, context: FillContext, random: Random): number[] {
  const count = call.kind.accountCount.draw(random);
  const accounts: number[] = [];
  if (call.program.role === 'app') {
    fillAppAccounts(accounts, count, { call, context });
    return accounts;
  }
  const { list, writableCount } = context;
  for (let i = 0; i < count; i++) {
    // The last one signs: the user, or the market on the user's behalf.
    if (count > 1 && i === count - 1) {
      accounts.push(drawAuthority(list, random));
    } else accounts.push(writableIndex(list, random.below(writableCount)));
  }
  return accounts;
}

/** The user, one of the read-only keys that everybody names, or any. */
function drawAuthority(list: KeyList, random: Random): number {
  const choice = random.unit();
  if (choice < 0.4) return 0;
  if (choice > 0.55) return random.below(list.keys.length);
  return list.staticCount - 1 - random.below(Math.min(4, list.readonlyUnsignedCount));
}

/** An application names its market first, then the user, then everything else in turn. */
function fillAppAccounts(
  accounts: number[],
  count: number,
  { call, context }: { readonly call: CallDraft; readonly context: FillContext },
): void {
  const keyCount = context.list.keys.length;
  const markets = context.marketIndexes;
  const marketCount = Math.min(count - 1, markets.length);
  let market = markets.length === 0 ? 0 : call.program.rank % markets.length;
  for (let i = 0; i < marketCount; i++) {
    accounts.push(markets[market] as number);
    market = market + 1 === markets.length ? 0 : market + 1;
  }
  if (accounts.length < count) accounts.push(0);
  // From the read-only keys on, which are the ones that others name too.
  let next = context.list.staticCount - context.list.readonlyUnsignedCount;
  while (accounts.length < count) {
    accounts.push(next);
    next = next + 1 === keyCount ? 0 : next + 1;
  }
}
