/** Runs the transactions of one block, in order, and pays its rewards. */
import type { Random } from '@sluice/base/random';
import type { ChainBlock } from '../../chain/chain-block.ts';
import { act, actAsCast } from '../actions/act.ts';
import type { Scene } from '../actions/scene.ts';
import { LAST_COUNT, settleCast, settleLast, settleUser } from '../actions/settle.ts';
import { type ContentOptions, TRANSACTION_COUNT_MAX } from '../content-options.ts';
import { drawLognormal } from '../distributions.ts';
import { ERA_RULES, type EraRules } from '../eras.ts';
import {
  drawForm,
  LEGACY_FORM,
  TransactionBuilder,
  type TransactionForm,
} from '../machine/build-transaction.ts';
import { type Machine, SIGNATURE_FEE } from '../machine/machine.ts';
import { vote } from '../programs/native.ts';
import type { SimulatedReward, SimulatedTransaction } from '../simulated-block.ts';
import { ID } from '../world/known-addresses.ts';
import { VALIDATOR_STEP, type World } from '../world/world.ts';
import { leaderOf, type Pay, payVoters } from './rewards.ts';

export type VisitTransaction = (transaction: SimulatedTransaction, index: number) => void;

/** The position of a block in its window. */
export interface WindowPosition {
  /** Whether this is the last block of the window, which settles everything that is not settled yet. */
  readonly isLast: boolean;
  readonly slotsLeft: number;
  readonly windowSlots: number;
  /** The hashes of the newest blocks before it. */
  readonly hashes: readonly string[];
}

const COUNT_SIGMA = 0.45;
const VOTE_SIGMA = 0.1;
const LATE_VOTE_RATE = 0.002;
const LOST_LOG_RATE = 0.5;
/** The share of failed transactions that fail before their first instruction, and the share that fail after their last one. */
const RARE_RATE = 0.004;
/** The share of the last transactions of a window that end sessions. */
const SETTLE_RATE = 0.5;
const NO_VOTE = -1;
/** Errors of transactions that do not run and only pay the fee. */
const REFUSALS = [
  'InvalidProgramForExecution',
  'ProgramAccountNotFound',
  'MaxLoadedAccountsDataSizeExceeded',
] as const;

export class BlockRunner {
  readonly #options: ContentOptions;
  readonly #era: EraRules;
  readonly #scene: Scene;
  readonly #machine: Machine;
  readonly #world: World;
  readonly #random: Random;
  readonly #builder: TransactionBuilder;
  // State of the current block.
  #index = 0;
  #fees = 0;
  #visit: VisitTransaction | null = null;
  #hashes: readonly string[] = [];

  constructor(options: ContentOptions, dependencies: { scene: Scene; random: Random }) {
    this.#options = options;
    this.#era = ERA_RULES[options.era];
    this.#scene = dependencies.scene;
    this.#machine = dependencies.scene.vm;
    this.#world = dependencies.scene.world;
    this.#random = dependencies.random;
    this.#builder = new TransactionBuilder(this.#machine);
  }

  /** Runs a block. Returns the rewards of accounts of the world. */
  run(
    block: ChainBlock,
    position: WindowPosition,
    visit: VisitTransaction | null,
  ): SimulatedReward[] {
    const random = this.#random.fork(block.branch, block.slot);
    this.#index = 0;
    this.#fees = 0;
    this.#visit = visit;
    this.#machine.isMuted = visit === null;
    this.#hashes = [...position.hashes, block.previousBlockhash];
    const voters = payVoters(this.#options, block, { world: this.#world, pay: this.#pay });
    const isEnding = position.slotsLeft <= this.#countEndingSlots(position.windowSlots);
    for (const validator of this.#drawOrder(random)) {
      if (validator === NO_VOTE) this.#runOther(random.fork(this.#index), block.slot, isEnding);
      else if (visit === null) this.#payForVote(validator);
      else this.#runVote(random.fork(this.#index), block.slot, validator);
    }
    const leader = leaderOf(this.#world, block.slot);
    const paidOut = position.isLast ? this.#settle(random, block.slot, leader) : 0;
    const rewards = [this.#pay(leader, Math.floor(this.#fees / 2), { rewardType: 'Fee' })];
    // The foundation's stake earns the amount that it paid out.
    const { foundationStake } = this.#world;
    if (paidOut > 0) rewards.push(this.#pay(foundationStake, paidOut, { rewardType: 'Staking' }));
    return [...rewards, ...voters];
  }

  /** Returns the transactions of the block in order: the validator of a vote, otherwise `NO_VOTE`. */
  #drawOrder(random: Random): number[] {
    const { transactionsPerBlock, votesPerBlock } = this.#options;
    const { validatorCount } = this.#world;
    const max = TRANSACTION_COUNT_MAX;
    let others = drawLognormal(random, { mean: transactionsPerBlock, sigma: COUNT_SIGMA, max });
    const voteShape = { mean: votesPerBlock, sigma: VOTE_SIGMA, max: validatorCount };
    let votes = drawLognormal(random, voteShape);
    const order: number[] = [];
    let validator = random.below(validatorCount);
    while (others + votes > 0) {
      const isVote = random.below(others + votes) < votes;
      order.push(isVote ? validator : NO_VOTE);
      if (!isVote) others--;
      else {
        votes--;
        validator = (validator + VALIDATOR_STEP) % validatorCount;
      }
    }
    return order;
  }

  /** Returns the number of slots before the window's end in which users end their sessions. */
  #countEndingSlots(windowSlots: number): number {
    const perBlock = Math.max(1, this.#options.transactionsPerBlock) * SETTLE_RATE;
    return Math.min(windowSlots / 2, Math.ceil((this.#world.userCount * 1.6) / perBlock));
  }

  /** Changes the state as a vote does, which only pays its fee, whether it fails or not. */
  #payForVote(validator: number): void {
    this.#world.addLamports(this.#world.identities + validator, -SIGNATURE_FEE);
    this.#fees += SIGNATURE_FEE;
    this.#index++;
  }

  #runVote(random: Random, slot: number, validator: number): void {
    this.#machine.pool.passing.clear();
    this.#scene.next(random, slot, random.chance(LATE_VOTE_RATE));
    this.#scene.beginPlain(this.#world.identities + validator);
    vote(this.#machine, validator, Math.max(0, slot - 1), this.#scene.isDoomed);
    this.#finish(random, LEGACY_FORM);
  }

  #runOther(random: Random, slot: number, isEnding: boolean): void {
    const { oddities, failureRate, version1Rate } = this.#options;
    const { isModern } = this.#era;
    const scene = this.#scene;
    this.#machine.pool.passing.clear();
    scene.next(random, slot, random.chance(failureRate));
    const rare = oddities?.rareRate ?? RARE_RATE;
    const kind = scene.isDoomed ? random.unit() : 1;
    // The transaction fails before its first instruction or after its last one, so none of its instructions fails.
    if (kind < rare * 2) scene.isDoomed = false;
    scene.refusal = kind < rare ? random.pick(REFUSALS) : null;
    if (isEnding) {
      const isSettled = !scene.isDoomed && random.chance(SETTLE_RATE * 1.3) && settleUser(scene);
      if (!isSettled) actAsCast(scene);
    } else act(scene);
    scene.refusal = null;
    if (oddities !== null && random.chance(0.1)) this.#machine.whisper(ID.signatureCheck);
    if (kind >= rare && kind < rare * 2 && this.#machine.error === null) {
      this.#machine.refuseAll('InsufficientFundsForRent', '{"account_index":0}');
    }
    this.#finish(random, drawForm(this.#machine, { isModern, version1Rate }));
  }

  /** Restores the state at the start of a window. Returns the lamports that the foundation's stake paid out. */
  #settle(random: Random, slot: number, leader: number): number {
    const scene = this.#scene;
    const step = (run: () => boolean): boolean => {
      this.#machine.pool.passing.clear();
      const stepRandom = random.fork(this.#index);
      scene.next(stepRandom, slot, false);
      if (!run()) return false;
      this.#finish(stepRandom, LEGACY_FORM);
      return true;
    };
    while (step(() => settleUser(scene)));
    while (step(() => settleCast(scene, leader)));
    const stake = this.#world.foundationStake;
    const before = this.#world.lamports(stake);
    for (let i = 0; i < LAST_COUNT; i++) {
      step(() => {
        settleLast(scene, i, leader, this.#fees);
        return true;
      });
    }
    return before - this.#world.lamports(stake);
  }

  #finish(random: Random, form: TransactionForm): void {
    const machine = this.#machine;
    this.#fees += machine.fee;
    const index = this.#index++;
    if (this.#visit === null) {
      machine.settle();
      machine.clear();
      return;
    }
    const recentBlockhash = random.pick(this.#hashes);
    const transaction = this.#builder.build(form, recentBlockhash);
    this.#adaptLog(transaction, random);
    this.#visit(transaction, index);
  }

  /** Drops the log of transactions that paid only the fee, and of some transactions of 2020. */
  #adaptLog({ error }: SimulatedTransaction, random: Random): void {
    const { log } = this.#machine;
    if (error !== null && log.lineCount === 0 && error.variant !== 'InstructionError') log.drop();
    else if (this.#era.losesLogs && random.chance(LOST_LOG_RATE)) log.drop();
  }

  readonly #pay: Pay = (account, lamports, { rewardType, commission = null }) => {
    const { book, pool } = this.#machine;
    this.#world.addLamports(account, lamports);
    const postBalance = String(this.#world.lamports(account));
    const pubkey = pool.read(book.address(account));
    return { pubkey, lamports: String(lamports), postBalance, rewardType, commission };
  };
}
