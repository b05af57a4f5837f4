/**
 * The laws of the programs with an IDL. Every instruction records the event that its rule names, and no other. The tokens that it moves are
 * those of the event (or of its arguments, if it has no event), and the vaults of the program change by exactly these amounts according to
 * the token balances of the transaction.
 */
import { type Act, changeOf, listActs, type Move } from './acts.ts';
import type { TransactionRecords } from './transaction-records.ts';
import { UndoableMap, type UndoLog } from './undo-log.ts';

const AMM = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const ARBITRAGE = '256KwCmfbjXkyRhcpmh9T6bFVEqtNfh3NTM8ieWMNbZg';
/** The rent of the account with the reserve of a launchpad coin. */
const CURVE_RENT = 2_672_640n;
const RESERVES = /reserve_in: (\d+), reserve_out: (\d+), amount_in: (\d+), amount_out: (\d+)/;

interface Rule {
  readonly event?: string;
  /** The tokens that must move. Without it, the instruction does not say how many; other laws apply to it. */
  readonly moves?: (act: Act) => Move[];
}

function move(act: Act, from: string, to: string, amount: string): Move {
  return { from: act.account(from), to: act.account(to), amount: act.amount(amount) };
}

/** The rule of every instruction in docs/idl. The market maker's own transfers, loans and prices are no trades and have no events. */
const RULES: Readonly<Record<string, Rule>> = {
  swap: {
    event: 'SwapEvent',
    moves: (act) => [
      move(act, 'user_input', 'input_vault', 'amount_in'),
      move(act, 'output_vault', 'user_output', 'amount_out'),
    ],
  },
  rebalance: {},
  take: {
    event: 'FillEvent',
    moves: (act) =>
      act.amount('side') === 0n
        ? [
            move(act, 'user_quote', 'quote_vault', 'cost'),
            move(act, 'base_vault', 'user_base', 'size'),
          ]
        : [
            move(act, 'user_base', 'base_vault', 'size'),
            move(act, 'quote_vault', 'user_quote', 'cost'),
          ],
  },
  quote: {},
  create: { event: 'CreateEvent' },
  buy: { event: 'TradeEvent', moves: (act) => [move(act, 'vault', 'user_token', 'tokens')] },
  sell: { event: 'TradeEvent', moves: (act) => [move(act, 'user_token', 'vault', 'tokens')] },
  route: { event: 'RouteEvent', moves: () => [] },
  deposit_and_borrow: {
    moves: (act) => [
      move(act, 'user_collateral', 'collateral_vault', 'collateral'),
      move(act, 'dollar_vault', 'user_dollars', 'dollars'),
    ],
  },
  repay_and_withdraw: {},
  liquidate: {
    event: 'LiquidationEvent',
    moves: (act) => [
      move(act, 'liquidator_dollars', 'dollar_vault', 'debt'),
      move(act, 'collateral_vault', 'liquidator_collateral', 'collateral'),
    ],
  },
  update_prices: { moves: () => [] },
};

function textOf(moves: readonly Move[]): string {
  return moves
    .map(({ from, to, amount }) => `${amount} from ${from} to ${to}`)
    .sort()
    .join(', ');
}

export class EventChecker {
  /** How often every instruction was checked. */
  readonly counts = new Map<string, number>(Object.keys(RULES).map((name) => [name, 0]));
  /** The vaults that an instruction has named. */
  readonly #vaults = new Set<string>();
  /** The collateral and the debt of every open obligation, as text. */
  readonly #obligations: UndoableMap<string>;
  readonly #report: (place: string, text: string) => void;
  #place = '';

  constructor(undoLog: UndoLog, report: (place: string, text: string) => void) {
    this.#obligations = new UndoableMap(undoLog);
    this.#report = report;
  }

  /** Checks a committed transaction. */
  check(records: TransactionRecords): void {
    this.#place = records.place;
    const acts = listActs(records);
    for (const { name } of acts) this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    this.#checkVaults(acts, records);
    const isComplete = acts.map((act) => this.#checkEvent(act)).every(Boolean);
    if (!isComplete) return;
    for (const act of acts) this.#checkAct(act, acts, records);
    this.#checkArbitrage(acts, records);
  }

  /** Returns whether the act has the event of its rule. A log that is too long can lack it. */
  #checkEvent(act: Act): boolean {
    const { event } = RULES[act.name] ?? {};
    const found = act.events.map(({ name }) => name).join();
    if (found !== (event ?? '')) {
      if (!act.isCut) this.#break(`${act.name} has the events [${found}], not [${event ?? ''}]`);
      return false;
    }
    for (const [name, value] of Object.entries(act.events[0]?.values ?? {})) {
      const account = act.accounts.get(name);
      if (account !== undefined && account !== value)
        this.#break(`${act.name} names the ${name} ${account}, its event ${value}`);
    }
    const wanted = RULES[act.name]?.moves?.(act) ?? act.moves;
    if (textOf(wanted) !== textOf(act.moves))
      this.#break(`${act.name} should move ${textOf(wanted)}, but moved ${textOf(act.moves)}`);
    return true;
  }

  #checkAct(act: Act, acts: readonly Act[], records: TransactionRecords): void {
    if (act.name === 'swap') this.#checkSwap(act, records);
    else if (act.name === 'route') this.#checkRoute(act, acts);
    else if (act.name === 'take') this.#checkFill(act, records);
    else if (act.name === 'buy' || act.name === 'sell') this.#checkTrade(act, records);
    else if (act.name === 'rebalance') this.#checkTargets(act, records, 'target');
    else if (act.name === 'quote') this.#checkTargets(act, records, 'size');
    else if (act.accounts.has('obligation')) this.#checkDebt(act);
  }

  /** Every vault that was ever named must change by exactly what the transfers of the transaction moved, also if this transaction does not name it. */
  #checkVaults(acts: readonly Act[], { held }: TransactionRecords): void {
    const wanted = new Map<string, bigint>();
    for (const { accounts, moves } of acts) {
      for (const [name, account] of accounts) {
        if (!name.endsWith('vault')) continue;
        this.#vaults.add(account);
        if (changeOf(held, account) === undefined)
          this.#break(`the ${name} ${account} has no token balance`);
      }
      for (const { from, to, amount } of moves) {
        wanted.set(from, (wanted.get(from) ?? 0n) - amount);
        wanted.set(to, (wanted.get(to) ?? 0n) + amount);
      }
    }
    for (const { account } of held) {
      const change = changeOf(held, account);
      if (this.#vaults.has(account) && change !== (wanted.get(account) ?? 0n))
        this.#break(
          `the vault ${account} changed by ${change}, but its transfers add up to ${wanted.get(account) ?? 0n}`,
        );
    }
  }

  /** The log line, the event and the balances agree, the fee is a quarter of a percent, and the product of the reserves does not fall. */
  #checkSwap(act: Act, { held }: TransactionRecords): void {
    const [paid, bought] = [act.amount('amount_in'), act.amount('amount_out')];
    const rowOf = (name: string) => held.find(({ account }) => account === act.account(name));
    const [into, outOf] = [rowOf('input_vault'), rowOf('output_vault')];
    const [, ...logged] = RESERVES.exec(act.lines.join('\n')) ?? [];
    const known = [into?.preAmount, outOf?.preAmount, paid, bought];
    if (logged.join() !== known.join() && !act.isCut)
      this.#break(`a swap logs ${logged}, the records say ${known}`);
    const [reserveIn, reserveOut] = [into?.preAmount ?? 0n, outOf?.preAmount ?? 0n];
    if ((reserveIn + paid) * (reserveOut - bought) < reserveIn * reserveOut)
      this.#break('a pool lost by a swap');
    const fee = act.amount('fee') * 400n - paid;
    if (fee < 0n || fee > 400n) this.#break(`a swap of ${paid} has the fee ${act.amount('fee')}`);
    const mints = [into?.preMint, outOf?.preMint].join();
    if (mints !== [act.account('input_mint'), act.account('output_mint')].join())
      this.#break(`a swap names other mints than ${mints}`);
    const isBasePaid = rowOf('base_fees')?.preMint === act.account('input_mint');
    if (isBasePaid !== act.isTrue('base_for_quote')) this.#break('a swap names the wrong side');
    if (bought < (act.args['amount_out_min'] as bigint)) this.#break('a swap returned too little');
  }

  /** Every swap of a route takes all that the last one returned. */
  #checkChain(swaps: readonly Act[]): void {
    swaps.slice(1).forEach((swap, i) => {
      const last = swaps[i] as Act;
      const isSame = swap.account('user_input') === last.account('user_output');
      if (!isSame || swap.amount('amount_in') !== last.amount('amount_out'))
        this.#break('a swap of a route does not continue the last one');
    });
  }

  #checkRoute(act: Act, acts: readonly Act[]): void {
    const swaps = acts.filter(({ name, parentPath }) => name === 'swap' && parentPath === act.path);
    const [first, last] = [swaps[0], swaps.at(-1)];
    this.#checkChain(swaps);
    const { amm, input_mint, amount_in, output_mint, amount_out } = act.events[0]?.values ?? {};
    const said = [amm, input_mint, amount_in, output_mint, amount_out].join();
    const [paid, bought] = [first?.amount('amount_in'), last?.amount('amount_out')];
    const mints = [first?.account('input_mint'), last?.account('output_mint')];
    const done = [AMM, mints[0], paid, mints[1], bought].join();
    if (said !== done) this.#break(`a route of ${said} swapped ${done}`);
    if ((act.args['hops'] as readonly unknown[]).length !== swaps.length)
      this.#break(`a route has ${swaps.length} swaps`);
    if ((bought ?? 0n) < (act.args['amount_out_min'] as bigint))
      this.#break('a route returned too little');
  }

  /** The arbitrage program has no IDL: after its name, its data has the amount. It must end with more coins than it started with. */
  #checkArbitrage(acts: readonly Act[], { calls, held }: TransactionRecords): void {
    for (const call of calls.filter(({ row }) => row.programId === ARBITRAGE)) {
      const swaps = acts.filter((act) => act.parentPath === call.path);
      const [first, last] = [swaps[0], swaps.at(-1)];
      this.counts.set('arbitrage', (this.counts.get('arbitrage') ?? 0) + 1);
      this.#checkChain(swaps);
      const [paid, bought] = [first?.amount('amount_in') ?? 0n, last?.amount('amount_out') ?? 0n];
      const profit = changeOf(held, first?.account('user_input') ?? '');
      if (paid !== call.data.readBigUInt64LE(8) || profit !== bought - paid || bought <= paid)
        this.#break(`an arbitrage of ${paid} returned ${bought}, a profit of ${profit}`);
    }
  }

  /** The cost is the size times the price of a whole token. */
  #checkFill(act: Act, { held }: TransactionRecords): void {
    const base = held.find(({ account }) => account === act.account('base_vault'));
    const unit = 10n ** BigInt(base?.preDecimals ?? 0);
    const off = act.amount('cost') * unit - act.amount('size') * act.amount('price');
    if (off < -unit || off > unit * 2n)
      this.#break(`a fill of ${act.amount('size')} costs ${act.amount('cost')}`);
    const { size, side } = act.args;
    if (size !== act.amount('size') || side !== act.amount('side'))
      this.#break('a fill has another size or side than its instruction');
  }

  /** The lamports of a trade are the change of the curve's account, which has the reserve and the rent. */
  #checkTrade(act: Act, { balances }: TransactionRecords): void {
    const curve = balances.find(({ account }) => account === act.account('curve'));
    const [lamports, tokens] = [act.amount('lamports'), act.amount('tokens')];
    const isBuy = act.isTrue('is_buy');
    const change = (curve?.post ?? 0n) - (curve?.pre ?? 0n);
    if (change !== (isBuy ? lamports : -lamports) || isBuy !== (act.name === 'buy'))
      this.#break(`a trade of ${lamports} lamports changed the curve by ${change}`);
    if (curve !== undefined && curve.post - CURVE_RENT !== act.amount('reserve'))
      this.#break(
        `a trade left the reserve ${curve.post - CURVE_RENT}, not ${act.amount('reserve')}`,
      );
    const { amount, amount_min } = act.args;
    const [paid, bought] = isBuy ? [lamports, tokens] : [tokens, lamports];
    if (paid !== amount || bought < (amount_min as bigint))
      this.#break('a trade has other amounts than its instruction');
  }

  /** The market maker leaves the amounts in the vaults that the instruction says. */
  #checkTargets(act: Act, { held }: TransactionRecords, kind: 'target' | 'size'): void {
    const names = kind === 'target' ? ['base_target', 'quote_target'] : ['ask_size', 'bid_size'];
    ['base_vault', 'quote_vault'].forEach((vault, i) => {
      const row = held.find(({ account }) => account === act.account(vault));
      const target = act.args[names[i] as string];
      if (row?.postAmount !== target)
        this.#break(`${act.name} left ${row?.postAmount} in the ${vault}, not ${target}`);
    });
  }

  /** Checks that a repayment or a liquidation moves the amounts that were deposited and borrowed before. */
  #checkDebt(act: Act): void {
    const obligation = act.account('obligation');
    const known = this.#obligations.get(obligation) ?? '';
    const sumOf = (name: string): bigint =>
      act.moves.reduce((sum, { from, to, amount }) => {
        const vault = act.account(name);
        return sum + (to === vault ? amount : 0n) - (from === vault ? amount : 0n);
      }, 0n);
    const [collateral, debt] = [sumOf('collateral_vault'), sumOf('dollar_vault')];
    if (act.name === 'deposit_and_borrow') {
      if (known !== '') this.#break(`${obligation} has a debt already`);
      this.#obligations.set(obligation, `${-collateral},${-debt}`);
      return;
    }
    if (known !== '' && known !== `${collateral},${debt}`)
      this.#break(`${obligation} owes ${known}, ${act.name} moved ${collateral},${debt}`);
    this.#obligations.set(obligation, '');
  }

  #break(text: string): void {
    this.#report(this.#place, text);
  }
}
