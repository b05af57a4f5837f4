/** Which of a transaction's keys each of its calls names, and with which data it is called. */
import type { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import { drawData } from './base58-text.ts';
import type { CallDraft } from './call-draft.ts';
import type { Key, KeyList } from './key-list.ts';
import type { InstructionKind, Program } from './program.ts';

/** Where data that comes again and again is made: a pure function of the kind and the variant's number. */
export class DataVariants {
  readonly #random: Random;
  readonly #known = new Map<InstructionKind, string[]>();

  constructor(random: Random) {
    this.#random = random;
  }

  draw(program: Program, kind: InstructionKind, random: Random): string {
    if (kind.variantCount === undefined || kind.data.freeCount === 0) {
      return drawData(kind.data, random);
    }
    // Squaring favours the first variants.
    const unit = random.unit();
    const variant = Math.floor(unit * unit * kind.variantCount);
    let texts = this.#known.get(kind);
    if (texts === undefined) {
      texts = [];
      this.#known.set(kind, texts);
    }
    texts[variant] ??= drawData(
      kind.data,
      this.#random.fork(program.id, kind.data.fixed, kind.data.freeCount, variant),
    );
    return texts[variant] as string;
  }
}

export class CallFiller {
  readonly #variants: DataVariants;

  constructor(random: Random) {
    this.#variants = new DataVariants(random);
  }

  fill(calls: readonly CallDraft[], list: KeyList, random: Random): void {
    const indexes = new Map<Address, number>();
    for (const key of list.keys) {
      if (key.role === 'program') indexes.set(key.address, key.index);
    }
    const markets = list.keys.filter((key) => key.role === 'market');
    this.#fillAll(calls, { list, indexes, markets }, random);
  }

  #fillAll(calls: readonly CallDraft[], context: FillContext, random: Random): void {
    for (const call of calls) {
      call.programIndex = context.indexes.get(call.programId) as number;
      call.data = this.#variants.draw(call.program, call.kind, random);
      call.accounts = drawAccounts(call, context, random);
      if (call.calls.length > 0) this.#fillAll(call.calls, context, random);
    }
  }
}

interface FillContext {
  readonly list: KeyList;
  readonly indexes: ReadonlyMap<Address, number>;
  readonly markets: readonly Key[];
}

function drawAccounts(call: CallDraft, context: FillContext, random: Random): number[] {
  const count = call.kind.accountCount.draw(random);
  const accounts: number[] = new Array(count);
  const { keys, writable } = context.list;
  if (call.program.role === 'app') {
    fillAppAccounts(accounts, call.program, context, random);
    return accounts;
  }
  for (let i = 0; i < count; i++) {
    // The last one signs: the user, or the market on the user's behalf.
    const isLast = i === count - 1;
    if (count > 1 && isLast) accounts[i] = random.chance(0.6) ? 0 : random.below(keys.length);
    else accounts[i] = (writable[random.below(writable.length)] as Key).index;
  }
  return accounts;
}

/** An application names its market first, then the user, then everything else in turn. */
function fillAppAccounts(
  accounts: number[],
  program: Program,
  context: FillContext,
  random: Random,
): void {
  const { keys } = context.list;
  const { markets } = context;
  const skip = markets.length === 0 ? 0 : program.rank % markets.length;
  const marketCount = Math.min(accounts.length - 1, markets.length);
  let next = random.below(keys.length);
  for (let i = 0; i < accounts.length; i++) {
    if (i < marketCount) accounts[i] = (markets[(skip + i) % markets.length] as Key).index;
    else if (i === marketCount) accounts[i] = 0;
    else {
      accounts[i] = next;
      next = next + 1 === keys.length ? 0 : next + 1;
    }
  }
}
