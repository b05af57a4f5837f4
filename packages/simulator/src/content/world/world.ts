/**
 * The accounts of the simulated ledger. An account is a number. Its mint, owner and program never change and are in tables;
 * its lamports and its token amount (or supply, of a mint) are in two cells.
 *
 *   accounts   known programs | other programs | cast | users | validators | users' token accounts | coins of a window | scratch
 *   cells      lamports of account 0, 1, 2 … | amount of account 0, 1, 2 … | state of programs
 *
 * Every window of the ledger starts with the state `start`, and its last blocks restore it.
 */
import { entriesOf, keysOf, mapKeys } from '@sluice/protocol/typed-keys';
import { Cells } from './cells.ts';
import { ID, KNOWN_COUNT, PROGRAMS } from './known-addresses.ts';
import {
  COIN,
  DECIMALS,
  MARKET_COUNT,
  MARKETS,
  MINT_BYTES,
  POOL_COUNT,
  POOLS,
  rentOf,
  TOKEN_2022_BYTES,
  TOKEN_BYTES,
  TOKEN_COUNT,
  TOKENS_2022,
  unitsPerCoin,
  wholeUnits,
} from './tokens.ts';

export const APP_COUNT = 400;
/** The number of accounts that every call of an application names. */
export const APP_ACCOUNT_COUNT = 4;
export const BOT_COUNT = 6;
export const WHALE_COUNT = 8;
export const FEED_COUNT = 12;
/** The maximum number of coins that the launchpad mints in one window. */
export const LAUNCH_COUNT = 16;
/** The maximum number of accounts that only one transaction uses. */
export const SCRATCH_COUNT = 96;
/** The state accounts of a pool: state, authority, settings, observations and two tick arrays. */
export const POOL_STATE_COUNT = 6;
/** The distance between the numbers of two consecutive voters of a block. */
export const VALIDATOR_STEP = 7;
export const NO_ACCOUNT = -1;

const BOT_LAMPORTS = 200 * COIN;
const BOT_COINS = 500;
const MAKER_COINS = 900_000;
const POOL_COINS = 20_000;
const PROGRAM_LAMPORTS = 1_141_440;
const RESERVE_DOLLARS = 40_000_000;
/** The reserve has more lamports than a JavaScript number can represent, and one token account has the maximum amount of a u64. */
const VAST_LAMPORTS = 2n ** 53n + 1n;
const VAST_SUPPLY = 2n ** 64n - 1n;

interface Counts {
  readonly users: number;
  readonly validators: number;
}

/** Returns the kinds of accounts in the order of their numbers: the count, the owning program, and the lamports at the start. */
function listKinds({ users, validators }: Counts) {
  return {
    known: [KNOWN_COUNT, ID.system, 1],
    apps: [APP_COUNT, ID.system, PROGRAM_LAMPORTS],
    appAccounts: [APP_COUNT * APP_ACCOUNT_COUNT, ID.system, rentOf(920)],
    faucet: [1, ID.system, 8_000_000 * COIN],
    maker: [1, ID.system, 50_000 * COIN],
    foundation: [1, ID.system, COIN],
    foundationStake: [1, ID.stake, 5_000_000 * COIN],
    reserve: [1, ID.system, 0],
    vastMint: [1, ID.token, rentOf(MINT_BYTES)],
    vastHolder: [1, ID.token, 0],
    bots: [BOT_COUNT, ID.system, BOT_LAMPORTS],
    publishers: [2, ID.system, BOT_LAMPORTS],
    feeds: [FEED_COUNT, ID.oracle, rentOf(3312)],
    eventAuthorities: [KNOWN_COUNT, ID.system, 0],
    mints: [TOKEN_COUNT, ID.token, rentOf(MINT_BYTES)],
    makerTokens: [TOKEN_COUNT, ID.token, 0],
    botTokens: [TOKEN_COUNT * BOT_COUNT, ID.token, 0],
    pools: [POOL_COUNT * POOL_STATE_COUNT, ID.amm, rentOf(1544)],
    vaults: [POOL_COUNT * 2, ID.token, 0],
    /** Accounts for protocol fees. Every swap names them, but no fee is paid to them. */
    feeVaults: [POOL_COUNT * 2, ID.token, 0],
    markets: [MARKET_COUNT * 3, ID.orderBook, rentOf(80_000)],
    marketVaults: [MARKET_COUNT * 2, ID.token, 0],
    lendingMarket: [2, ID.lending, rentOf(8624)],
    collateralVault: [1, ID.token, 0],
    dollarVault: [1, ID.token, 0],
    launchSettings: [2, ID.launchpad, rentOf(512)],
    /** Accounts from here on differ by seed. */
    users: [users, ID.system, 0],
    identities: [validators, ID.system, 60 * COIN],
    voteAccounts: [validators, ID.vote, rentOf(3762)],
    userTokens: [users * TOKEN_COUNT, ID.token, 0],
    userStakes: [users, ID.stake, 0],
    obligations: [users, ID.lending, 0],
    /** Accounts from here on have different addresses in every window. */
    launchMints: [LAUNCH_COUNT, ID.token, 0],
    launchCurves: [LAUNCH_COUNT, ID.launchpad, 0],
    launchVaults: [LAUNCH_COUNT, ID.token, 0],
    launchTokens: [LAUNCH_COUNT * users, ID.token, 0],
    scratch: [SCRATCH_COUNT, ID.system, 0],
  } as const satisfies Record<string, readonly [count: number, program: number, lamports: number]>;
}

/** Returns the cells that belong to no account: the state of programs. */
function listStates({ users }: Counts) {
  return {
    asks: MARKET_COUNT,
    bids: MARKET_COUNT,
    collaterals: users,
    debts: users,
    isDelegated: users,
    prices: FEED_COUNT,
    launchCount: 1,
    closeCursor: 1,
  };
}

type Name = keyof ReturnType<typeof listKinds> | keyof ReturnType<typeof listStates>;
/** The first account of every kind, and the first cell of every state. */
type Firsts = Readonly<Record<Name, number>>;
export type World = WorldState & Firsts;

export function createWorld(options: {
  readonly transactionsPerBlock: number;
  readonly votesPerBlock: number;
}): World {
  const users = Math.max(64, Math.round(options.transactionsPerBlock * 2.4));
  const counts = { users, validators: countValidators(options.votesPerBlock) };
  const kinds = listKinds(counts);
  const states = listStates(counts);
  const firsts = mapKeys([...keysOf(kinds), ...keysOf(states)], () => 0);
  let accountCount = 0;
  for (const [name, [count]] of entriesOf(kinds)) {
    firsts[name] = accountCount;
    accountCount += count;
  }
  let cellCount = accountCount * 2;
  for (const [name, count] of entriesOf(states)) {
    firsts[name] = cellCount;
    cellCount += count;
  }
  const state = new WorldState({ counts, accountCount, cellCount, firsts });
  return Object.assign(state, firsts);
}

class WorldState {
  readonly userCount: number;
  readonly validatorCount: number;
  readonly accountCount: number;
  readonly cells: Cells;
  /** The mint of a token account; `NO_ACCOUNT` for other accounts. */
  readonly mintOf: Int32Array;
  /** The owner of a token account: a user or an account of a program. */
  readonly ownerOf: Int32Array;
  /** The program that owns an account. */
  readonly programOf: Int32Array;
  readonly decimalsOf: Uint8Array;
  /** All cells at the start of every window. */
  readonly start: Float64Array;
  /** Amounts that are added to the values of cells, because no cell can hold them. */
  readonly vast: ReadonlyMap<number, bigint>;
  readonly #first: Firsts;

  constructor(layout: { counts: Counts; accountCount: number; cellCount: number; firsts: Firsts }) {
    const { counts, accountCount, firsts } = layout;
    this.#first = firsts;
    this.userCount = counts.users;
    this.validatorCount = counts.validators;
    this.accountCount = accountCount;
    this.cells = new Cells(layout.cellCount);
    this.mintOf = new Int32Array(accountCount).fill(NO_ACCOUNT);
    this.ownerOf = new Int32Array(accountCount).fill(NO_ACCOUNT);
    this.programOf = new Int32Array(accountCount);
    this.decimalsOf = new Uint8Array(accountCount);
    for (const [name, [count, program, lamports]] of entriesOf(listKinds(counts))) {
      const first = firsts[name];
      this.programOf.fill(program, first, first + count);
      this.cells.values.fill(lamports, first, first + count);
    }
    for (const program of PROGRAMS) this.cells.values[program] = PROGRAM_LAMPORTS;
    this.#describeTokens();
    this.#describeTrade();
    this.#describeLaunches();
    this.vast = new Map([
      [firsts.reserve, VAST_LAMPORTS],
      [accountCount + firsts.vastMint, VAST_SUPPLY],
      [accountCount + firsts.vastHolder, VAST_SUPPLY],
    ]);
    this.start = this.cells.values.slice();
  }

  mintAt(account: number): number {
    return this.mintOf[account] as number;
  }

  ownerAt(account: number): number {
    return this.ownerOf[account] as number;
  }

  programAt(account: number): number {
    return this.programOf[account] as number;
  }

  decimalsAt(mint: number): number {
    return this.decimalsOf[mint] as number;
  }

  lamports(account: number): number {
    return this.cells.values[account] as number;
  }

  /** Returns the amount of a token account, or the supply of a mint. */
  amount(account: number): number {
    return this.cells.values[this.accountCount + account] as number;
  }

  cell(cell: number): number {
    return this.cells.values[cell] as number;
  }

  addLamports(account: number, change: number): void {
    this.cells.add(account, change);
  }

  addAmount(account: number, change: number): void {
    this.cells.add(this.accountCount + account, change);
  }

  /** Returns the difference of an account's amount to the start of the window. */
  amountSinceStart(account: number): number {
    return this.amount(account) - (this.start[this.accountCount + account] as number);
  }

  lamportsSinceStart(account: number): number {
    return this.lamports(account) - (this.start[account] as number);
  }

  /** Sets the lamports of an account that only one transaction uses, so the change need not be undone. */
  setScratch(account: number, lamports: number): void {
    this.cells.values[account] = lamports;
    this.cells.values[this.accountCount + account] = 0;
    this.mintOf[account] = NO_ACCOUNT;
    this.programOf[account] = ID.system;
  }

  exists(account: number): boolean {
    return this.lamports(account) > 0;
  }

  mint(token: number): number {
    return token === 0 ? ID.wrappedCoin : this.#first.mints + token;
  }

  userToken(user: number, token: number): number {
    return this.#first.userTokens + user * TOKEN_COUNT + token;
  }

  botToken(bot: number, token: number): number {
    return this.#first.botTokens + bot * TOKEN_COUNT + token;
  }

  launchToken(user: number, launch: number): number {
    return this.#first.launchTokens + user * LAUNCH_COUNT + launch;
  }

  poolVault(pool: number, side: number): number {
    return this.#first.vaults + pool * 2 + side;
  }

  /** Returns the price of a whole token in lamports, in its pool with the coin. */
  poolPrice(token: number): number {
    const base = this.amount(this.poolVault(token - 1, 0));
    const quote = this.amount(this.poolVault(token - 1, 1));
    return Math.round((quote / base) * wholeUnits(token));
  }

  /** Returns the price that the oracle last published for a token. */
  price(token: number): number {
    return this.cell(this.#first.prices + token - 1);
  }

  /** Returns whether the account has the address that the associated token program derives from its owner and mint. */
  isAssociated(account: number): boolean {
    const { makerTokens, pools, userTokens, userStakes } = this.#first;
    return (
      (account >= makerTokens && account < pools) || (account >= userTokens && account < userStakes)
    );
  }

  rentOfToken(mint: number): number {
    return rentOf(this.programOf[mint] === ID.token2022 ? TOKEN_2022_BYTES : TOKEN_BYTES);
  }

  /** Makes an account a token account. A scratch account has another mint in every transaction. */
  describeToken(account: number, mint: number, owner: number): void {
    this.mintOf[account] = mint;
    this.ownerOf[account] = owner;
    this.programOf[account] = this.programAt(mint);
  }

  #describeMint(mint: number, program: number, decimals: number): void {
    this.programOf[mint] = program;
    this.decimalsOf[mint] = decimals;
  }

  /** Describes the listed tokens and the accounts that can hold them. */
  #describeTokens(): void {
    const { vastMint, vastHolder, reserve, makerTokens, maker, bots, users } = this.#first;
    this.#describeMint(vastMint, ID.token, 2);
    this.#hold(vastHolder, vastMint, reserve, 0);
    this.cells.values[ID.wrappedCoin] = rentOf(MINT_BYTES);
    DECIMALS.forEach((decimals, token) => {
      const mint = this.mint(token);
      this.#describeMint(mint, TOKENS_2022.has(token) ? ID.token2022 : ID.token, decimals);
      // The market maker's amounts stay below 2^53 for every token.
      const makerAmount = MAKER_COINS * Math.min(unitsPerCoin(token), 1e9);
      this.#hold(makerTokens + token, mint, maker, makerAmount);
      for (let bot = 0; bot < BOT_COUNT; bot++) {
        this.#hold(this.botToken(bot, token), mint, bots + bot, token === 0 ? BOT_COINS * COIN : 0);
      }
      for (let user = 0; user < this.userCount; user++) {
        this.describeToken(this.userToken(user, token), mint, users + user);
      }
    });
  }

  /** Describes the token accounts of pools, markets and the lending pool, and the first prices of the oracle. */
  #describeTrade(): void {
    const { pools, feeVaults, markets, marketVaults, lendingMarket, prices } = this.#first;
    POOLS.forEach((sides, pool) => {
      const state = pools + pool * POOL_STATE_COUNT;
      // Popular pools have larger reserves.
      const coins = Math.ceil(POOL_COINS / (1 + (pool % TOKEN_COUNT) / 3));
      sides.forEach((token, side) => {
        const [mint, units] = [this.mint(token), unitsPerCoin(token)];
        this.#hold(this.poolVault(pool, side), mint, state + 1, coins * units);
        this.#hold(feeVaults + pool * 2 + side, mint, state + 2, Math.ceil(units / 3));
      });
    });
    MARKETS.forEach((base, market) => {
      const owner = markets + market * 3;
      this.#hold(marketVaults + market * 2, this.mint(base), owner, 0);
      this.#hold(marketVaults + market * 2 + 1, this.mint(1), owner, 0);
    });
    this.#hold(this.#first.collateralVault, this.mint(2), lendingMarket + 1, 0);
    this.#hold(this.#first.dollarVault, this.mint(1), lendingMarket + 1, RESERVE_DOLLARS * 1e6);
    for (let feed = 0; feed < FEED_COUNT; feed++) {
      this.cells.values[prices + feed] = this.poolPrice(feed + 1);
    }
  }

  #describeLaunches(): void {
    const { launchMints, launchVaults, launchCurves, users } = this.#first;
    for (let launch = 0; launch < LAUNCH_COUNT; launch++) {
      const mint = launchMints + launch;
      this.#describeMint(mint, ID.token, 6);
      this.describeToken(launchVaults + launch, mint, launchCurves + launch);
      for (let user = 0; user < this.userCount; user++) {
        this.describeToken(this.launchToken(user, launch), mint, users + user);
      }
    }
  }

  /** Adds a token account that exists at the start of every window. Its amount is part of the supply. */
  #hold(account: number, mint: number, owner: number, amount: number): void {
    const { values } = this.cells;
    const isWrapped = mint === ID.wrappedCoin;
    this.describeToken(account, mint, owner);
    values[account] = this.rentOfToken(mint) + (isWrapped ? amount : 0);
    values[this.accountCount + account] = amount;
    // The token program does not count the supply of the wrapped coin.
    if (!isWrapped) values[this.accountCount + mint] = this.amount(mint) + amount;
  }
}

/** Returns a number of validators that has no common factor with the step between the voters of a block. */
function countValidators(votesPerBlock: number): number {
  const count = Math.min(1300, Math.max(16, Math.round(votesPerBlock * 1.3)));
  return count % VALIDATOR_STEP === 0 ? count + 1 : count;
}
