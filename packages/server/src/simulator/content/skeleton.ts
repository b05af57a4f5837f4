/**
 * What a transaction does, before it is known with which accounts and amounts: its calls, how it ends and what it prints.
 *
 * On the real ledger most transactions repeat what others did with other accounts. So do ours: most take one of a fixed
 * stock of skeletons, each a pure function of the seed and its number, made when first met and kept; the rest have their own.
 */
import type { Random } from '../../base/random.ts';
import { type CallDraft, flattenCalls } from './call-draft.ts';
import { type CallTree, CallTreeBuilder, type Shape } from './call-tree.ts';
import type { ContentOptions } from './content-options.ts';
import { ERA_RULES } from './eras.ts';
import { drawFailure, type FailureRates } from './failures.ts';
import { SYSTEM, TOKEN } from './ledger-programs.ts';
import { LogPrinter, LogTemplate, type PrintedLog, poolLog, printOldForm } from './print-log.ts';
import type { Program } from './program.ts';
import type { ProgramCatalogue } from './program-catalogue.ts';
import type { SimulatedError, SimulatedLog } from './simulated-block.ts';
import type { TextPool } from './text-pool.ts';

const STOCK_COUNT = 3000;
const STOCK_RATE = 0.95;

export interface Skeleton {
  readonly shape: Shape;
  readonly calls: readonly CallDraft[];
  readonly programs: readonly Program[];
  readonly error: SimulatedError | null;
  readonly log: SimulatedLog;
  readonly units: number;
}

/** Its log is null where none was recorded. */
interface SkeletonDraft extends Omit<Skeleton, 'log'> {
  readonly log: PrintedLog | null;
}

interface StockItem {
  readonly draft: SkeletonDraft;
  readonly log: LogTemplate | null;
}

export class SkeletonDrawer {
  readonly #options: ContentOptions;
  readonly #trees: CallTreeBuilder;
  readonly #random: Random;
  readonly #rates: FailureRates;
  readonly #pool: TextPool;
  readonly #noLog: SimulatedLog;
  readonly #stock: (StockItem | undefined)[] = new Array(STOCK_COUNT).fill(undefined);

  constructor(
    options: ContentOptions,
    random: Random,
    { catalogue, pool }: { readonly catalogue: ProgramCatalogue; readonly pool: TextPool },
  ) {
    this.#options = options;
    this.#random = random;
    this.#pool = pool;
    this.#noLog = { form: 'none', lines: [], markIndex: 0, pieces: [pool.lasting.add('null')] };
    this.#trees = new CallTreeBuilder(catalogue, { isStress: options.stress });
    this.#rates = {
      feeOnly: options.stress ? 0.06 : 0.004,
      rent: options.stress ? 0.06 : 0.004,
      beforeInvoke: options.stress ? 0.15 : 0.006,
    };
  }

  draw(random: Random): Skeleton {
    if (this.#options.stress || !random.chance(STOCK_RATE)) {
      const draft = this.#build(random, random.chance(this.#options.failureRate));
      const log = draft.log === null ? this.#noLog : poolLog(draft.log, this.#pool.passing);
      return { ...draft, log };
    }
    const place = random.below(STOCK_COUNT);
    let item = this.#stock[place];
    if (item === undefined) {
      item = this.#buildItem(place);
      this.#stock[place] = item;
    }
    const { shape, calls, programs, error, units } = item.draft;
    const log = item.log === null ? this.#noLog : item.log.draw(random);
    return { shape, calls, programs, error, units, log };
  }

  #buildItem(place: number): StockItem {
    // Failures are dealt out, not drawn, so that the rate of the stock is the one asked for.
    const isFailing = place < this.#options.failureRate * STOCK_COUNT;
    const draft = this.#build(this.#random.fork(place), isFailing);
    return { draft, log: draft.log === null ? null : new LogTemplate(draft.log, this.#pool) };
  }

  #build(random: Random, isFailing: boolean): SkeletonDraft {
    const tree = this.#trees.build(random);
    if (this.#options.stress && random.chance(0.2)) silenceBudget(tree);
    const error = isFailing ? drawFailure(tree.calls, this.#rates, random) : null;
    if (this.#options.stress && random.chance(0.2)) breakFailureText(tree);
    const log = this.#drawLog(tree, error, random);
    let units = 0;
    for (const call of tree.calls) units += call.units;
    const { shape, calls } = tree;
    return { shape, calls, programs: collectPrograms(calls), error, units, log };
  }

  #drawLog(tree: CallTree, error: SimulatedError | null, random: Random): PrintedLog | null {
    const log = new LogPrinter(random, { isStress: this.#options.stress }).print(tree.calls);
    // Where only the fee was taken nothing was recorded.
    if (error !== null && log.lines.length === 0 && error.variant !== 'InstructionError')
      return null;
    if (ERA_RULES[this.#options.era].logs === 'modern') return log;
    const choice = random.unit();
    if (choice < 0.34) return null;
    return choice < 0.67 ? printOldForm(log, tree.calls) : log;
  }
}

/** The programs that a transaction names: all it runs, and the two that nearly every program asks for. */
function collectPrograms(calls: readonly CallDraft[]): Program[] {
  const programs = new Set(flattenCalls(calls).map((call) => call.program));
  programs.add(SYSTEM);
  if (calls.some((call) => call.program.role === 'app')) programs.add(TOKEN);
  return [...programs];
}

/** Some versions of the node run the compute budget without a word. */
function silenceBudget(tree: CallTree): void {
  for (const call of tree.calls) if (call.program.role === 'budget') call.prints = false;
}

/** An error's text over several lines, one of which looks like a line of its own. */
function breakFailureText(tree: CallTree): void {
  for (const call of flattenCalls(tree.calls)) {
    if (call.failure !== null) call.failure += `\nProgram ${call.program.id} success\r\u2028end`;
  }
}
