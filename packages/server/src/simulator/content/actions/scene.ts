/** The context of an action: the machine, the world, the transaction's random numbers, and the user. */
import type { Random } from '../../../base/random.ts';
import type { ContentOptions } from '../content-options.ts';
import { buildZipfTable, Quantiles, type WeightedTable } from '../distributions.ts';
import type { Machine } from '../machine/machine.ts';
import { Applications } from '../programs/applications.ts';
import { requestUnits } from '../programs/native.ts';
import { COIN, TOKEN_COUNT } from '../world/tokens.ts';
import { WHALE_COUNT, type World } from '../world/world.ts';

const PRIORITY_FEE = new Quantiles([
  [0, 0],
  [0.45, 0],
  [0.57, 2],
  [0.8, 3000],
  [0.92, 16_400],
  [0.98, 105_000],
  [0.999, 2_000_000],
  [1, 40_000_000],
]);
const MICRO = 1_000_000;
/** The share of purchases of a token whatever the user holds. */
const NEW_TOKEN_RATE = 0.18;
/** A wallet keeps this reserve for the fees and rents of its session. */
const KEPT_LAMPORTS = COIN / 2;

export class Scene {
  readonly vm: Machine;
  readonly world: World;
  readonly applications: Applications;
  readonly #users: WeightedTable;
  readonly #tokens: WeightedTable;
  /** Of the transaction at hand. */
  random: Random;
  slot = 0;
  user = 0;
  /** The transaction is to fail by what it does. */
  isDoomed = false;
  /** The transaction is refused as a whole before anything runs, with this error. */
  refusal: string | null = null;

  constructor(vm: Machine, options: Pick<ContentOptions, 'oddities'>) {
    this.vm = vm;
    this.world = vm.world;
    this.random = vm.random;
    this.applications = new Applications(options);
    this.#users = buildZipfTable(this.world.userCount, 0.5);
    this.#tokens = buildZipfTable(TOKEN_COUNT - 1, 1.18);
  }

  /** Turns to the next transaction. */
  next(random: Random, slot: number, isDoomed: boolean): void {
    this.random = random;
    this.vm.random = random;
    this.slot = slot;
    this.isDoomed = isDoomed;
    this.user = this.#users.draw(random);
  }

  get wallet(): number {
    return this.world.users + this.user;
  }

  get isWhale(): boolean {
    return this.user < WHALE_COUNT;
  }

  /** What the user can spend on an action. */
  get spendable(): number {
    return this.world.lamports(this.wallet) - KEPT_LAMPORTS;
  }

  /** Any token but the coin, the popular ones more often. */
  drawToken(): number {
    return 1 + this.#tokens.draw(this.random);
  }

  /** A token that the user holds, or 0. */
  drawHeldToken(): number {
    return this.#drawTokenWith((account) => this.world.amount(account) > 0);
  }

  /** A token to buy: mostly one that the user has an account for already. */
  drawWantedToken(): number {
    const isNew = this.random.chance(NEW_TOKEN_RATE);
    return (
      (!isNew && this.#drawTokenWith((account) => this.world.exists(account))) || this.drawToken()
    );
  }

  #drawTokenWith(test: (account: number) => boolean): number {
    const first = this.drawToken();
    for (let i = 0; i < TOKEN_COUNT - 1; i++) {
      const token = 1 + ((first - 1 + i) % (TOKEN_COUNT - 1));
      if (test(this.world.userToken(this.user, token))) return token;
    }
    return 0;
  }

  /** Another user whose session is open, or -1. */
  drawOther(): number {
    for (let i = 0; i < 4; i++) {
      const other = this.#users.draw(this.random);
      if (other !== this.user && this.world.lamports(this.world.users + other) >= COIN)
        return other;
    }
    return -1;
  }

  /** Starts the transaction. The units are what it may need; most ask for no more than the usual ones. */
  begin(payer: number, units: number, signatureCount = 1): void {
    const priority = PRIORITY_FEE.draw(this.random);
    const unitLimit = priority === 0 && !this.random.chance(0.2) ? 0 : units;
    const unitPrice = unitLimit === 0 ? 0 : Math.floor((priority * MICRO) / unitLimit);
    this.vm.begin({ payer, signatureCount, unitLimit, unitPrice });
    if (this.refusal !== null) this.vm.refuseAll(this.refusal, null);
    requestUnits(this.vm);
  }

  /** Starts a transaction that pays the least fee there is. */
  beginPlain(payer: number, signatureCount = 1): void {
    this.vm.begin({ payer, signatureCount, unitLimit: 0, unitPrice: 0 });
  }
}
