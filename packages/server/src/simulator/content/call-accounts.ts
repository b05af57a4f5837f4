/** Which of a transaction's keys each of its calls names, and with which data it is called. */
import { assert } from '../../base/assert.ts';
import type { Random } from '../../base/random.ts';
import { DigitTape, drawData } from './base58-text.ts';
import type { CallDraft } from './call-draft.ts';
import { countWritable, type Key, type KeyList, writableIndex } from './key-list.ts';
import type { InstructionKind, Program } from './program.ts';
import type { Call } from './simulated-block.ts';
import { HEADER_BYTES, type NumberList, type PooledText, type TextPool } from './text-pool.ts';

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
  readonly #pool: TextPool;
  readonly #variants: DataVariants;
  /** Which keys of the transaction at hand belong to markets. */
  readonly #markets = new Uint8Array(KEY_COUNT_MAX);
  #marketCount = 0;
  #writableCount = 0;

  constructor(random: Random, pool: TextPool) {
    this.#pool = pool;
    this.#variants = new DataVariants(random, pool);
  }

  fill(drafts: readonly CallDraft[], list: KeyList, tape: DigitTape): Call[] {
    assert(list.keyCount <= KEY_COUNT_MAX, 'a key has a place below 256');
    this.#marketCount = 0;
    for (let i = 0; i < list.keyCount; i++) {
      if ((list.keys[i] as Key).role === 'market') this.#markets[this.#marketCount++] = i;
    }
    this.#writableCount = countWritable(list);
    return this.#fill(drafts, list, tape);
  }

  #fill(drafts: readonly CallDraft[], list: KeyList, tape: DigitTape): Call[] {
    const calls = new Array<Call>(drafts.length);
    for (let i = 0; i < drafts.length; i++) {
      const draft = drafts[i] as CallDraft;
      calls[i] = {
        programId: draft.program.id,
        programIndex: findProgram(list, draft.program),
        accounts: this.#drawAccounts(draft, list, tape.random),
        data: this.#variants.draw(draft.program, draft.kind, tape),
        depth: draft.depth,
        calls: draft.calls.length === 0 ? NO_CALLS : this.#fill(draft.calls, list, tape),
        ran: draft.ran,
      };
    }
    return calls;
  }

  #drawAccounts(call: CallDraft, list: KeyList, random: Random): NumberList {
    const count = call.kind.accountCount.draw(random);
    const accounts = this.#pool.passing.openNumbers(count);
    if (call.program.role === 'app') this.#fillAppAccounts(accounts, count, { call, list });
    else this.#fillAccounts(accounts, count, { list, random });
    return accounts;
  }

  #fillAccounts(
    accounts: NumberList,
    count: number,
    { list, random }: { readonly list: KeyList; readonly random: Random },
  ): void {
    const { bytes } = this.#pool;
    const start = accounts + HEADER_BYTES;
    const lastIndex = count - 1;
    for (let i = 0; i < count; i++) {
      // The last one signs: the user, or the market on the user's behalf.
      bytes[start + i] =
        i === lastIndex && count > 1
          ? drawAuthority(list, random)
          : writableIndex(list, random.below(this.#writableCount));
    }
  }

  /** An application names its market first, then the user, then everything else in turn. */
  #fillAppAccounts(
    accounts: NumberList,
    count: number,
    { call, list }: { readonly call: CallDraft; readonly list: KeyList },
  ): void {
    const { bytes } = this.#pool;
    const markets = this.#markets;
    const marketCount = this.#marketCount;
    const end = accounts + HEADER_BYTES + count;
    let at = accounts + HEADER_BYTES;
    let market = marketCount === 0 ? 0 : call.program.rank % marketCount;
    for (let left = Math.min(count - 1, marketCount); left > 0; left--) {
      bytes[at++] = markets[market] as number;
      market = market + 1 === marketCount ? 0 : market + 1;
    }
    if (at < end) bytes[at++] = 0;
    // From the read-only keys on, which are the ones that others name too.
    let next = list.staticCount - list.readonlyUnsignedCount;
    while (at < end) {
      bytes[at++] = next;
      next = next + 1 === list.keyCount ? 0 : next + 1;
    }
  }
}

const NO_CALLS: readonly Call[] = [];

/** Places of keys are single bytes on the ledger. */
const KEY_COUNT_MAX = 256;

/** Programs stand at the end of the static keys or of the loaded ones. */
function findProgram({ keys, keyCount }: KeyList, program: Program): number {
  for (let i = keyCount - 1; i >= 0; i--) if ((keys[i] as Key).program === program) return i;
  assert(false, 'the key list holds every program that is called');
}

/** The user, one of the read-only keys that everybody names, or any. */
function drawAuthority(list: KeyList, random: Random): number {
  const choice = random.unit();
  if (choice < 0.4) return 0;
  if (choice > 0.55) return random.below(list.keyCount);
  return list.staticCount - 1 - random.below(Math.min(4, list.readonlyUnsignedCount));
}
