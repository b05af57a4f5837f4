/** The call tree of a transaction: which programs it runs, in which order, and which call which. */
import type { Random } from '../../base/random.ts';
import { type CallDraft, createCall } from './call-draft.ts';
import { Bands, Choice, Quantiles } from './distributions.ts';
import {
  ASSOCIATED_CREATE,
  ASSOCIATED_TOKEN,
  CLOSE_ACCOUNT,
  COMPUTE_BUDGET,
  GET_ACCOUNT_DATA_SIZE,
  INITIALIZE_ACCOUNT,
  INITIALIZE_ACCOUNT_3,
  INITIALIZE_IMMUTABLE_OWNER,
  SILENT,
  SYNC_NATIVE,
  SYSTEM,
  SYSTEM_CREATE,
  SYSTEM_TRANSFER,
  TOKEN,
  TOKEN_TRANSFER,
  TOKEN_TRANSFER_CHECKED,
  VOTE,
} from './ledger-programs.ts';
import type { InstructionKind, Program } from './program.ts';
import type { AppPlace, ProgramCatalogue } from './program-catalogue.ts';

export type Shape = 'infrastructure' | 'one' | 'few' | 'many';

const SHAPES = new Choice<Shape>([
  ['infrastructure', 18],
  ['one', 54],
  ['few', 25],
  ['many', 3],
]);

/** Instructions by shape. Transactions that fail keep fewer, so these lie a little above what comes out. */
const INFRASTRUCTURE_COUNT = new Bands([
  [1, 1, 70],
  [2, 3, 11],
  [4, 6, 13],
  [7, 9, 6],
]);
const ONE_COUNT = new Quantiles([
  [0, 2],
  [0.1, 4],
  [0.25, 6],
  [0.62, 7],
  [0.9, 10],
  [1, 14],
]);
const FEW_COUNT = new Quantiles([
  [0, 6],
  [0.1, 8],
  [0.5, 11],
  [0.9, 18],
  [1, 23],
]);
const MANY_COUNT = new Quantiles([
  [0, 13],
  [0.5, 19],
  [0.9, 23],
  [1, 28],
]);
const BUDGET_COUNT = new Bands([
  [0, 0, 28],
  [1, 1, 18],
  [2, 2, 54],
]);

const ALONE = new Choice<'system' | 'token' | 'associated'>([
  ['system', 78],
  ['token', 18],
  ['associated', 4],
]);
const OUTER_KINDS: Choice<readonly [Program, InstructionKind]> = new Choice([
  [[TOKEN, CLOSE_ACCOUNT] as const, 36],
  [[TOKEN, INITIALIZE_ACCOUNT] as const, 18],
  [[TOKEN, SYNC_NATIVE] as const, 6],
  [[TOKEN, TOKEN_TRANSFER] as const, 8],
  [[SYSTEM, SYSTEM_TRANSFER] as const, 10],
]);
const INNER_KINDS: Choice<readonly [Program, InstructionKind]> = new Choice([
  [[TOKEN, TOKEN_TRANSFER] as const, 58],
  [[TOKEN, TOKEN_TRANSFER_CHECKED] as const, 21],
  [[SYSTEM, SYSTEM_TRANSFER] as const, 9],
  [[SYSTEM, SYSTEM_CREATE] as const, 6],
]);

/** The ledger's own limit today is 5; 9 is announced. */
const STRESS_DEPTH_MAX = 9;

export interface CallTree {
  readonly shape: Shape;
  readonly calls: CallDraft[];
}

export class CallTreeBuilder {
  readonly #catalogue: ProgramCatalogue;
  readonly #isStress: boolean;

  constructor(catalogue: ProgramCatalogue, traits: { readonly isStress: boolean }) {
    this.#catalogue = catalogue;
    this.#isStress = traits.isStress;
  }

  build(random: Random): CallTree {
    const shape = SHAPES.draw(random);
    const calls = this.#buildShape(shape, random);
    if (this.#isStress) this.#disturb(calls, random);
    return { shape, calls };
  }

  #buildShape(shape: Shape, random: Random): CallDraft[] {
    switch (shape) {
      case 'infrastructure':
        return buildInfrastructure(random);
      case 'one':
        return this.#buildOne(random);
      case 'few':
        return this.#buildRoute(random, { count: FEW_COUNT.draw(random), venueCountMax: 2 });
      case 'many':
        return this.#buildRoute(random, { count: MANY_COUNT.draw(random), venueCountMax: 5 });
      default:
        return shape;
    }
  }

  #buildOne(random: Random): CallDraft[] {
    const calls = buildBudget(random, 2);
    const app = this.#app('alone', random, 1);
    const count = ONE_COUNT.draw(random);
    const outer = addAccountCreation(random, 0.06);
    let room = count - calls.length - 1;
    for (; room > 0; room--) {
      const choice = random.unit();
      if (choice < 0.49) addInner(app, random);
      else if (choice < 0.6) outer.push(createCall(app.program, app.program.kinds.draw(random), 1));
      else outer.push(outerCall(random));
    }
    return arrange([...calls], app, outer, random);
  }

  /** A router that calls venues, which move tokens; or, one time in four, the same one after another. */
  #buildRoute(
    random: Random,
    plan: { readonly count: number; readonly venueCountMax: number },
  ): CallDraft[] {
    const calls = buildBudget(random, 2);
    const router = this.#app('router', random, 1);
    const outer = addAccountCreation(random, 0.2);
    const isNested = random.chance(0.78);
    const venueCount = plan.venueCountMax > 2 ? random.between(3, 5) : random.between(1, 2);
    const venues: CallDraft[] = [];
    for (let i = 0; i < venueCount; i++) {
      const venue = this.#app('venue', random, isNested ? 2 : 1);
      addInner(venue, random);
      addInner(venue, random);
      venues.push(venue);
    }
    if (isNested) router.calls.push(...venues);
    else outer.push(...venues);
    if (random.chance(0.12)) this.#deepen(venues[0] as CallDraft, random, 1);
    let room = plan.count - calls.length - 1 - venueCount * 3 - countCalls(outer);
    for (; room > 0; room--) {
      const choice = random.unit();
      if (choice < 0.34) addInner(router, random);
      else if (choice < 0.54) addInner(random.pick(venues), random);
      else outer.push(outerCall(random));
    }
    return arrange([...calls], router, outer, random);
  }

  #app(place: AppPlace, random: Random, depth: number): CallDraft {
    const program = this.#catalogue.drawApp(place, random);
    return createCall(program, program.kinds.draw(random), depth);
  }

  /** Makes a call go `levels` deeper, the last one moving tokens. */
  #deepen(call: CallDraft, random: Random, levels: number): void {
    let parent = call;
    for (let i = 0; i < levels; i++) {
      const next = this.#app('venue', random, parent.depth + 1);
      parent.calls.push(next);
      parent = next;
    }
    addInner(parent, random);
  }

  #disturb(calls: CallDraft[], random: Random): void {
    for (const call of calls) {
      if (call.program.role !== 'app' || !random.chance(0.3)) continue;
      this.#deepen(call, random, random.between(1, STRESS_DEPTH_MAX - 2));
      addInner(call, random);
    }
    if (random.chance(0.15)) {
      const silent = random.pick(SILENT);
      calls.unshift(createCall(silent, silent.kinds.draw(random), 1));
    }
    const app = calls.find((call) => call.program.role === 'app');
    if (app !== undefined && random.chance(0.15)) {
      const silent = random.pick(SILENT);
      const at = random.below(app.calls.length + 1);
      app.calls.splice(at, 0, createCall(silent, silent.kinds.draw(random), 2));
    }
  }
}

function buildInfrastructure(random: Random): CallDraft[] {
  const count = INFRASTRUCTURE_COUNT.draw(random);
  if (count === 1) return [aloneCall(random)];
  // A vote that also sets its price is not a plain vote any more.
  if (random.chance(0.002)) {
    return [...buildBudget(random, 1), createCall(VOTE, VOTE.kinds.draw(random), 1)];
  }
  const calls = buildBudget(random, Math.min(2, count - 1));
  while (calls.length < count) calls.push(aloneCall(random));
  return calls;
}

function aloneCall(random: Random): CallDraft {
  switch (ALONE.draw(random)) {
    case 'system':
      return createCall(SYSTEM, SYSTEM.kinds.draw(random), 1);
    case 'token':
      return createCall(TOKEN, TOKEN.kinds.draw(random), 1);
    case 'associated':
      return createCall(ASSOCIATED_TOKEN, ASSOCIATED_TOKEN.kinds.draw(random), 1);
    default:
      return createCall(SYSTEM, SYSTEM_TRANSFER, 1);
  }
}

function buildBudget(random: Random, countMax: number): CallDraft[] {
  const count = Math.min(countMax, BUDGET_COUNT.draw(random));
  const calls: CallDraft[] = [];
  for (let i = 0; i < count; i++) {
    calls.push(createCall(COMPUTE_BUDGET, COMPUTE_BUDGET.kinds.draw(random), 1));
  }
  return calls;
}

function outerCall(random: Random): CallDraft {
  const choice = random.unit();
  if (choice < 0.09) return createCall(ASSOCIATED_TOKEN, ASSOCIATED_TOKEN.kinds.draw(random), 1);
  if (choice < 0.36) return createCall(SYSTEM, SYSTEM.kinds.draw(random), 1);
  const [program, kind] = OUTER_KINDS.draw(random);
  return createCall(program, kind, 1);
}

function addInner(parent: CallDraft, random: Random): void {
  const { event } = parent.program;
  if (event !== undefined && random.chance(0.4)) {
    parent.calls.push(createCall(parent.program, event, parent.depth + 1));
    return;
  }
  const [program, kind] = INNER_KINDS.draw(random);
  parent.calls.push(createCall(program, kind, parent.depth + 1));
}

/** Now and then the user's token account has to be made first: five instructions. */
function addAccountCreation(random: Random, rate: number): CallDraft[] {
  if (!random.chance(rate)) return [];
  const create = createCall(ASSOCIATED_TOKEN, ASSOCIATED_CREATE, 1);
  create.calls = [
    createCall(TOKEN, GET_ACCOUNT_DATA_SIZE, 2),
    createCall(SYSTEM, SYSTEM_CREATE, 2),
    createCall(TOKEN, INITIALIZE_IMMUTABLE_OWNER, 2),
    createCall(TOKEN, INITIALIZE_ACCOUNT_3, 2),
  ];
  return [create];
}

/** Puts the application among what prepares it and what cleans up after it. */
function arrange(
  first: CallDraft[],
  app: CallDraft,
  outer: readonly CallDraft[],
  random: Random,
): CallDraft[] {
  const split = outer.length === 0 ? 0 : random.below(outer.length + 1);
  first.push(...outer.slice(0, split), app, ...outer.slice(split));
  return first;
}

function countCalls(calls: readonly CallDraft[]): number {
  let count = 0;
  for (const call of calls) count += 1 + countCalls(call.calls);
  return count;
}
