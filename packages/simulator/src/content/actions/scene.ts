/** The context of an action: the machine, the world, the transaction's random numbers, and the user. */
import type { Random } from '@sluice/base/random';
import type { ContentOptions } from '../content-options.ts';
import { buildZipfTable, Quantiles, type WeightedTable } from '../distributions.ts';
import { type Machine, MICRO } from '../machine/machine.ts';
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
/** The share of purchases whose token is chosen independently of what the user holds. */
const NEW_TOKEN_RATE = 0.18;
/** A wallet keeps this reserve for the fees and rents of its session. */
const KEPT_LAMPORTS = COIN / 2;

export class Scene {
  readonly vm: Machine;
  readonly world: World;
  readonly applications: Applications;
  readonly #users: WeightedTable;
  readonly #tokens: WeightedTable;
  /** The random numbers of the current transaction. */
  random: Random;
  slot = 0;
  user = 0;
  /** Whether the current transaction should fail because of its own instructions. */
  isDoomed = false;
  /** The error with which the transaction is rejected as a whole before any instruction runs; null otherwise. */
  refusal: string | null = null;

  constructor(vm: Machine, options: Pick<ContentOptions, 'oddities'>) {
    this.vm = vm;
    this.world = vm.world;
    this.random = vm.random;
    this.applications = new Applications(options);
    this.#users = buildZipfTable(this.world.userCount, 0.5);
    this.#tokens = buildZipfTable(TOKEN_COUNT - 1, 1.18);
  }

  /** Prepares the next transaction. */
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

  /** Whether the user is one of the few with large funds. */
  get isWhale(): boolean {
    return this.user < WHALE_COUNT;
  }

  /** The lamports that the user can spend on an action. */
  get spendable(): number {
    return this.world.lamports(this.wallet) - KEPT_LAMPORTS;
  }

  /** Returns a random token except the coin; popular tokens are more frequent. */
  drawToken(): number {
    return 1 + this.#tokens.draw(this.random);
  }

  /** Returns a random token that the user holds; 0 if the user holds none. */
  drawHeldToken(): number {
    return this.#drawTokenWith((account) => this.world.amount(account) > 0);
  }

  /** Returns a token to buy: usually one for which the user already has an account. */
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

  /** Returns another user with an open session; -1 if there is no such user. */
  drawOther(): number {
    for (let i = 0; i < 4; i++) {
      const other = this.#users.draw(this.random);
      if (other !== this.user && this.world.lamports(this.world.users + other) >= COIN)
        return other;
    }
    return -1;
  }

  /** Starts the transaction. `units` is the limit that it requests, unless it uses the default limit. */
  begin(payer: number, units: number, signatureCount = 1): void {
    const priority = PRIORITY_FEE.draw(this.random);
    const unitLimit = priority === 0 && !this.random.chance(0.2) ? 0 : units;
    const unitPrice = unitLimit === 0 ? 0 : Math.floor((priority * MICRO) / unitLimit);
    this.vm.begin({ payer, signatureCount, unitLimit, unitPrice });
    if (this.refusal !== null) this.vm.refuseAll(this.refusal, null);
    requestUnits(this.vm);
  }

  /** Starts a transaction that pays the minimum fee. */
  beginPlain(payer: number, signatureCount = 1): void {
    this.vm.begin({ payer, signatureCount, unitLimit: 0, unitPrice: 0 });
  }
}
