/**
 * Everybody and everything on the simulated ledger. An account is a number; what never changes about it (mint, owner,
 * program) is in tables, what changes (lamports, token amount or supply) is in two cells.
 *
 *   accounts   known programs | other programs | cast | validators | users, their token accounts | coins of a window | scratch
 *   cells      lamports of account 0, 1, 2 … | amount of account 0, 1, 2 … | what programs remember
 *
 * Every window of the ledger begins with the same state, `reset`, and ends with it, since its last blocks settle.
 */
import type { ContentOptions } from '../content-options.ts';
import { Cells } from './cells.ts';
import { ID, KNOWN, KNOWN_COUNT, type KnownName } from './known-addresses.ts';
import {
  COIN,
  MARKET_COUNT,
  MARKETS,
  MINT_BYTES,
  POOL_COUNT,
  POOLS,
  POWERS_OF_TEN,
  rentOf,
  TOKEN_2022_BYTES,
  TOKEN_BYTES,
  TOKEN_COUNT,
  TOKENS,
  type TokenRow,
  unitsPerCoin,
} from './tokens.ts';

export const APP_COUNT = 400;
/** Accounts that every call of an application names. */
export const APP_ACCOUNT_COUNT = 4;
export const BOT_COUNT = 6;
export const WHALE_COUNT = 8;
export const FEED_COUNT = 12;
/** Coins that the launchpad can mint in one window. */
export const LAUNCH_COUNT = 16;
/** Accounts that only one transaction names. */
export const SCRATCH_COUNT = 96;
/** Accounts of a pool besides its token accounts and its mint: state, authority, settings, observations, two tick arrays. */
export const POOL_EXTRA_COUNT = 6;

const FAUCET_LAMPORTS = 8_000_000 * COIN;
const MAKER_LAMPORTS = 50_000 * COIN;
const MAKER_COINS = 900_000;
const BOT_LAMPORTS = 200 * COIN;
const BOT_COINS = 500;
const VALIDATOR_LAMPORTS = 60 * COIN;
const STAKE_LAMPORTS = 5_000_000 * COIN;
const PROGRAM_LAMPORTS = 1_141_440;
/** The reserve holds more lamports than a JavaScript number does, and one account more tokens than any other could. */
const VAST_LAMPORTS = 2n ** 53n + 1n;
const VAST_SUPPLY = 2n ** 64n - 1n;
const POOL_COINS = 20_000;
export const LIQUIDITY_SUPPLY = 100_000 * COIN;
const RESERVE_DOLLARS = 40_000_000;
export const NO_ACCOUNT = -1;
/** From one voter of a block to the next. */
export const VALIDATOR_STEP = 7;

/** Hands out numbers, one after the other. */
class Counter {
  next = 0;
  take(count: number): number {
    const first = this.next;
    this.next += count;
    return first;
  }
}

export class World {
  readonly userCount: number;
  readonly validatorCount: number;
  readonly accountCount: number;
  readonly cells: Cells;
  /** Of a token account its mint, else `NO_ACCOUNT`. */
  readonly mintOf: Int32Array;
  /** Of a token account the wallet or program account that owns it. */
  readonly ownerOf: Int32Array;
  /** The program that an account belongs to. */
  readonly programOf: Int32Array;
  readonly decimalsOf: Uint8Array;
  /** All cells as every window finds them. */
  readonly start: Float64Array;
  /** Added to what the cells say: amounts that no cell could hold. */
  readonly vast = new Map<number, bigint>();

  // The first number of each kind of account.
  readonly apps: number;
  readonly appAccounts: number;
  readonly faucet: number;
  readonly maker: number;
  readonly foundation: number;
  readonly foundationStake: number;
  readonly reserve: number;
  readonly vastMint: number;
  readonly vastHolder: number;
  readonly bots: number;
  readonly publishers: number;
  readonly feeds: number;
  readonly eventAuthorities: number;
  readonly mints: number;
  readonly makerTokens: number;
  readonly botTokens: number;
  readonly pools: number;
  readonly vaults: number;
  /** Where a protocol would collect its share; every swap names them. */
  readonly feeVaults: number;
  readonly liquidityMints: number;
  readonly makerLiquidity: number;
  readonly markets: number;
  readonly marketVaults: number;
  readonly lendingMarket: number;
  readonly collateralVault: number;
  readonly dollarVault: number;
  readonly launchSettings: number;
  /** Accounts from here on belong to this seed alone. */
  readonly lastingEnd: number;
  readonly identities: number;
  readonly voteAccounts: number;
  readonly users: number;
  readonly userTokens: number;
  readonly userStakes: number;
  readonly obligations: number;
  /** Accounts from here on have other addresses in every window. */
  readonly windowFirst: number;
  readonly launchMints: number;
  readonly launchCurves: number;
  readonly launchVaults: number;
  readonly launchTokens: number;
  readonly scratch: number;

  // Cells that are no account's.
  readonly asks: number;
  readonly bids: number;
  readonly collaterals: number;
  readonly debts: number;
  readonly prices: number;
  readonly launchCount: number;
  readonly closeCursor: number;
  readonly isDelegated: number;

  constructor(options: ContentOptions) {
    this.userCount = Math.max(64, Math.round(options.transactionsPerBlock * 2.4));
    this.validatorCount = countValidators(options.votesPerBlock);
    const ids = new Counter();
    ids.take(KNOWN_COUNT);
    this.apps = ids.take(APP_COUNT);
    this.appAccounts = ids.take(APP_COUNT * APP_ACCOUNT_COUNT);
    this.faucet = ids.take(1);
    this.maker = ids.take(1);
    this.foundation = ids.take(1);
    this.foundationStake = ids.take(1);
    this.reserve = ids.take(1);
    this.vastMint = ids.take(1);
    this.vastHolder = ids.take(1);
    this.bots = ids.take(BOT_COUNT);
    this.publishers = ids.take(2);
    this.feeds = ids.take(FEED_COUNT);
    this.eventAuthorities = ids.take(KNOWN_COUNT);
    this.mints = ids.take(TOKEN_COUNT);
    this.makerTokens = ids.take(TOKEN_COUNT);
    this.botTokens = ids.take(TOKEN_COUNT * BOT_COUNT);
    this.pools = ids.take(POOL_COUNT * POOL_EXTRA_COUNT);
    this.vaults = ids.take(POOL_COUNT * 2);
    this.feeVaults = ids.take(POOL_COUNT * 2);
    this.liquidityMints = ids.take(POOL_COUNT);
    this.makerLiquidity = ids.take(POOL_COUNT);
    this.markets = ids.take(MARKET_COUNT * 3);
    this.marketVaults = ids.take(MARKET_COUNT * 2);
    this.lendingMarket = ids.take(2);
    this.collateralVault = ids.take(1);
    this.dollarVault = ids.take(1);
    this.launchSettings = ids.take(2);
    this.lastingEnd = ids.next;
    this.users = ids.take(this.userCount);
    this.identities = ids.take(this.validatorCount);
    this.voteAccounts = ids.take(this.validatorCount);
    this.userTokens = ids.take(this.userCount * TOKEN_COUNT);
    this.userStakes = ids.take(this.userCount);
    this.obligations = ids.take(this.userCount);
    this.windowFirst = ids.next;
    this.launchMints = ids.take(LAUNCH_COUNT);
    this.launchCurves = ids.take(LAUNCH_COUNT);
    this.launchVaults = ids.take(LAUNCH_COUNT);
    this.launchTokens = ids.take(LAUNCH_COUNT * this.userCount);
    this.scratch = ids.take(SCRATCH_COUNT);
    this.accountCount = ids.next;

    const cells = new Counter();
    cells.take(this.accountCount * 2);
    this.asks = cells.take(MARKET_COUNT);
    this.bids = cells.take(MARKET_COUNT);
    this.collaterals = cells.take(this.userCount);
    this.debts = cells.take(this.userCount);
    this.isDelegated = cells.take(this.userCount);
    this.prices = cells.take(FEED_COUNT);
    this.launchCount = cells.take(1);
    this.closeCursor = cells.take(1);
    this.cells = new Cells(cells.next);
    this.mintOf = new Int32Array(this.accountCount).fill(NO_ACCOUNT);
    this.ownerOf = new Int32Array(this.accountCount).fill(NO_ACCOUNT);
    this.programOf = new Int32Array(this.accountCount).fill(ID.system);
    this.decimalsOf = new Uint8Array(this.accountCount);
    this.#describe();
    this.#fill();
    this.start = this.cells.values.slice();
  }

  lamports(account: number): number {
    return this.cells.values[account] as number;
  }

  /** Of a token account what it holds, of a mint its supply. */
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

  /** Sets what only one transaction can see, so nothing has to be undone. */
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
    return token === 0 ? ID.wrappedCoin : this.mints + token;
  }

  userToken(user: number, token: number): number {
    return this.userTokens + user * TOKEN_COUNT + token;
  }

  botToken(bot: number, token: number): number {
    return this.botTokens + bot * TOKEN_COUNT + token;
  }

  launchToken(user: number, launch: number): number {
    return this.launchTokens + user * LAUNCH_COUNT + launch;
  }

  poolVault(pool: number, side: 0 | 1): number {
    return this.vaults + pool * 2 + side;
  }

  /** The lamports that a whole token costs in its pool with the coin. */
  poolPrice(token: number): number {
    const base = this.amount(this.poolVault(token - 1, 0));
    const quote = this.amount(this.poolVault(token - 1, 1));
    const { decimals } = TOKENS[token] as TokenRow;
    return Math.round((quote / base) * (POWERS_OF_TEN[decimals] as number));
  }

  /** The price that the oracle last published for a token. */
  price(token: number): number {
    return this.cell(this.prices + token - 1);
  }

  eventAuthority(program: number): number {
    return this.eventAuthorities + program;
  }

  /** Whether the account is the one that its owner is expected to have for its mint. */
  isAssociated(account: number): boolean {
    const { makerTokens, pools, makerLiquidity, userTokens, userStakes, launchTokens, scratch } =
      this;
    return (
      (account >= makerTokens && account < pools) ||
      (account >= makerLiquidity && account < makerLiquidity + POOL_COUNT) ||
      (account >= userTokens && account < userStakes) ||
      (account >= launchTokens && account < scratch)
    );
  }

  tokenProgramOf(mint: number): number {
    return this.programOf[mint] as number;
  }

  rentOfToken(mint: number): number {
    return rentOf(this.programOf[mint] === ID.token2022 ? TOKEN_2022_BYTES : TOKEN_BYTES);
  }

  /** Makes an account a token account; also those of one transaction, whose mint differs each time. */
  describeToken(account: number, mint: number, owner: number): void {
    this.mintOf[account] = mint;
    this.ownerOf[account] = owner;
    this.programOf[account] = this.programOf[mint] as number;
  }

  #describe(): void {
    this.programOf[this.vastMint] = ID.token;
    this.decimalsOf[this.vastMint] = 2;
    this.describeToken(this.vastHolder, this.vastMint, this.reserve);
    this.programOf[ID.wrappedCoin] = ID.token;
    this.decimalsOf[ID.wrappedCoin] = 9;
    TOKENS.forEach(({ decimals, isToken2022 }, token) => {
      this.programOf[this.mint(token)] = isToken2022 ? ID.token2022 : ID.token;
      this.decimalsOf[this.mint(token)] = decimals;
      this.describeToken(this.makerTokens + token, this.mint(token), this.maker);
      for (let bot = 0; bot < BOT_COUNT; bot++) {
        this.describeToken(this.botToken(bot, token), this.mint(token), this.bots + bot);
      }
      for (let user = 0; user < this.userCount; user++) {
        this.describeToken(this.userToken(user, token), this.mint(token), this.users + user);
      }
    });
    POOLS.forEach((sides, pool) => {
      const state = this.pools + pool * POOL_EXTRA_COUNT;
      sides.forEach((token, side) => {
        this.describeToken(this.poolVault(pool, side as 0 | 1), this.mint(token), state + 1);
        this.describeToken(this.feeVaults + pool * 2 + side, this.mint(token), state + 2);
      });
      this.programOf.fill(ID.amm, state, state + POOL_EXTRA_COUNT);
      this.programOf[this.liquidityMints + pool] = ID.token;
      this.decimalsOf[this.liquidityMints + pool] = 9;
      this.describeToken(this.makerLiquidity + pool, this.liquidityMints + pool, this.maker);
    });
    MARKETS.forEach((base, market) => {
      const state = this.markets + market * 3;
      this.programOf.fill(ID.orderBook, state, state + 3);
      this.describeToken(this.marketVaults + market * 2, this.mint(base), state);
      this.describeToken(this.marketVaults + market * 2 + 1, this.mint(1), state);
    });
    this.describeToken(this.collateralVault, this.mint(2), this.lendingMarket + 1);
    this.describeToken(this.dollarVault, this.mint(1), this.lendingMarket + 1);
    this.programOf.fill(ID.lending, this.lendingMarket, this.lendingMarket + 2);
    this.programOf.fill(ID.lending, this.obligations, this.obligations + this.userCount);
    this.programOf.fill(ID.oracle, this.feeds, this.feeds + FEED_COUNT);
    this.programOf.fill(ID.stake, this.userStakes, this.userStakes + this.userCount);
    this.programOf[this.foundationStake] = ID.stake;
    this.programOf.fill(ID.vote, this.voteAccounts, this.voteAccounts + this.validatorCount);
    this.programOf.fill(ID.launchpad, this.launchSettings, this.launchSettings + 2);
    for (let launch = 0; launch < LAUNCH_COUNT; launch++) {
      const mint = this.launchMints + launch;
      this.programOf[mint] = ID.token;
      this.decimalsOf[mint] = 6;
      this.programOf[this.launchCurves + launch] = ID.launchpad;
      this.describeToken(this.launchVaults + launch, mint, this.launchCurves + launch);
      for (let user = 0; user < this.userCount; user++) {
        this.describeToken(this.launchToken(user, launch), mint, this.users + user);
      }
    }
  }

  /** The state in which every window begins. */
  #fill(): void {
    const { values } = this.cells;
    const lamports = (first: number, count: number, each: number): void => {
      values.fill(each, first, first + count);
    };
    lamports(0, KNOWN_COUNT, 1);
    for (const name of OWN_PROGRAMS) values[ID[name]] = PROGRAM_LAMPORTS;
    values[ID.wrappedCoin] = rentOf(MINT_BYTES);
    lamports(this.apps, APP_COUNT, PROGRAM_LAMPORTS);
    lamports(this.appAccounts, APP_COUNT * APP_ACCOUNT_COUNT, rentOf(920));
    values[this.faucet] = FAUCET_LAMPORTS;
    values[this.maker] = MAKER_LAMPORTS;
    values[this.foundation] = COIN;
    values[this.foundationStake] = STAKE_LAMPORTS;
    this.vast.set(this.reserve, VAST_LAMPORTS);
    values[this.vastMint] = rentOf(MINT_BYTES);
    this.#hold(this.vastHolder, 0);
    for (const account of [this.vastMint, this.vastHolder]) {
      this.vast.set(this.accountCount + account, VAST_SUPPLY);
    }
    lamports(this.bots, BOT_COUNT, BOT_LAMPORTS);
    lamports(this.publishers, 2, BOT_LAMPORTS);
    lamports(this.feeds, FEED_COUNT, rentOf(3312));
    lamports(this.mints, TOKEN_COUNT, rentOf(MINT_BYTES));
    lamports(this.pools, POOL_COUNT * POOL_EXTRA_COUNT, rentOf(1544));
    lamports(this.liquidityMints, POOL_COUNT, rentOf(MINT_BYTES));
    lamports(this.markets, MARKET_COUNT * 3, rentOf(80_000));
    lamports(this.lendingMarket, 2, rentOf(8624));
    lamports(this.launchSettings, 2, rentOf(512));
    lamports(this.identities, this.validatorCount, VALIDATOR_LAMPORTS);
    lamports(this.voteAccounts, this.validatorCount, rentOf(3762));
    this.#fillTokens();
  }

  #fillTokens(): void {
    for (let token = 0; token < TOKEN_COUNT; token++) {
      this.#hold(this.makerTokens + token, MAKER_COINS * unitsOf(token));
      for (let bot = 0; bot < BOT_COUNT; bot++) {
        this.#hold(this.botToken(bot, token), token === 0 ? BOT_COINS * COIN : 0);
      }
    }
    POOLS.forEach((sides, pool) => {
      // Popular pools are deeper.
      const coins = Math.ceil(POOL_COINS / (1 + (pool % TOKEN_COUNT) / 3));
      sides.forEach((token, side) => {
        this.#hold(this.poolVault(pool, side as 0 | 1), coins * unitsPerCoin(token));
        this.#hold(this.feeVaults + pool * 2 + side, Math.ceil(unitsPerCoin(token) / 3));
      });
      this.#hold(this.makerLiquidity + pool, LIQUIDITY_SUPPLY);
    });
    for (let i = 0; i < MARKET_COUNT * 2; i++) this.#hold(this.marketVaults + i, 0);
    this.#hold(this.collateralVault, 0);
    this.#hold(this.dollarVault, RESERVE_DOLLARS * 1_000_000);
    for (let feed = 0; feed < FEED_COUNT; feed++) {
      this.cells.values[this.prices + feed] = this.poolPrice(feed + 1);
    }
  }

  /** A token account that exists from the beginning; its amount is part of the supply. */
  #hold(account: number, amount: number): void {
    const { values } = this.cells;
    const mint = this.mintOf[account] as number;
    const isWrapped = mint === ID.wrappedCoin;
    values[account] = this.rentOfToken(mint) + (isWrapped ? amount : 0);
    values[this.accountCount + account] = amount;
    // The wrapped coin's supply is not counted by the token program either.
    if (!isWrapped) {
      const supply = this.accountCount + mint;
      values[supply] = (values[supply] as number) + amount;
    }
  }
}

/** Without a common factor with the step by which the voters of a block are chosen. */
function countValidators(votesPerBlock: number): number {
  const count = Math.min(1300, Math.max(16, Math.round(votesPerBlock * 1.3)));
  return count % VALIDATOR_STEP === 0 ? count + 1 : count;
}

/** Amounts of the market maker stay below 2^53 for every token. */
function unitsOf(token: number): number {
  return Math.min(unitsPerCoin(token), 1_000_000_000);
}

const OWN_PROGRAMS: readonly KnownName[] = [
  'token',
  'token2022',
  'associated',
  'memo',
  'stake',
  'amm',
  'orderBook',
  'launchpad',
  'lending',
  'oracle',
  'router',
  'arbitrage',
];

/** The name of a known account. */
export function knownText(id: number): string {
  return Object.values(KNOWN)[id] as string;
}
