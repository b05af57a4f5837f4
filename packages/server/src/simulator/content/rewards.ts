/**
 * What a block pays: its leader, those who voted and staked after the start of an epoch, and at the end of a window the stake
 * that refilled the faucet. Accounts that transactions never name have closed forms, so nothing has to be remembered.
 */
import type { Random } from '../../base/random.ts';
import type { ChainBlock } from '../chain-block.ts';
import { drawAddress } from './address-book.ts';
import type { ContentOptions } from './content-options.ts';
import { ERA_RULES } from './eras.ts';
import type { SimulatedReward } from './simulated-block.ts';
import type { TextPool } from './text-pool.ts';
import { COIN, rentOf } from './world/tokens.ts';
import type { World } from './world/world.ts';

const EPOCH_REWARD_SLOTS = 300;
const SLOTS_PER_LEADER = 4;
const VOTE_BYTES = 3762;
const VOTING_LAMPORTS = 3_000_000;
const COMMISSIONS = [0, 5, 7, 8, 10, 100] as const;
const EXTREMES: readonly string[] = ['9007199254740993', '18446744073709551615', '0'];

export function leaderOf(world: World, slot: number): number {
  return world.identities + (Math.floor(slot / SLOTS_PER_LEADER) % world.validatorCount);
}

/** The slots of an epoch in which rewards are paid. */
function payingSlots({ slotsPerEpoch }: ContentOptions): number {
  return Math.min(EPOCH_REWARD_SLOTS, slotsPerEpoch);
}

/** What a vote account holds before the slot: it earns the same in every epoch, in a slot of its own. */
export function voteLamports(options: ContentOptions, validator: number, slot: number): number {
  const offset = validator % payingSlots(options);
  const paidCount = Math.max(0, Math.floor((slot - 1 - offset) / options.slotsPerEpoch) + 1);
  return rentOf(VOTE_BYTES) + paidCount * VOTING_LAMPORTS;
}

/** The places in their epochs of the slots since the parent that pay rewards. */
function listPayments(
  options: ContentOptions,
  block: ChainBlock,
): { epoch: number; offset: number }[] {
  const payments: { epoch: number; offset: number }[] = [];
  const first = block.slot === 0 ? 0 : block.parentSlot + 1;
  for (let slot = first; slot <= block.slot; slot++) {
    const epoch = Math.floor(slot / options.slotsPerEpoch);
    const offset = slot - epoch * options.slotsPerEpoch;
    if (offset < payingSlots(options)) payments.push({ epoch, offset });
  }
  return payments;
}

/** Pays the vote accounts whose slot has come, before the block's transactions. */
export function payVoters(options: ContentOptions, block: ChainBlock, world: World): number[] {
  const paid: number[] = [];
  for (const { offset } of listPayments(options, block)) {
    for (let i = offset; i < world.validatorCount; i += payingSlots(options)) {
      world.addLamports(world.voteAccounts + i, VOTING_LAMPORTS);
      paid.push(i);
    }
  }
  return paid;
}

export class RewardPrinter {
  readonly #options: ContentOptions;
  readonly #pool: TextPool;
  readonly #random: Random;

  constructor(options: ContentOptions, modules: { pool: TextPool; random: Random }) {
    this.#options = options;
    this.#pool = modules.pool;
    this.#random = modules.random;
  }

  /** Rewards of accounts outside the world: stakers, and in some eras those who paid rent. No transaction is at hand then. */
  outside(block: ChainBlock): SimulatedReward[] {
    const rewards: SimulatedReward[] = [];
    const count = this.#options.epochRewardsPerBlock;
    for (const { epoch, offset } of listPayments(this.#options, block)) {
      for (let i = 0; i < count; i++) rewards.push(this.#stakerReward(offset * count + i, epoch));
    }
    const random = this.#random.fork('rewards', block.branch, block.slot);
    if (ERA_RULES[this.#options.era].hasRent) rewards.push(...this.#rents(random));
    if (this.#options.stress) rewards.push(...this.#oddities(random));
    return rewards;
  }

  /** A staker earns the same in every epoch. */
  #stakerReward(staker: number, epoch: number): SimulatedReward {
    const random = this.#random.fork('staker', staker);
    const pubkey = this.#draw(random);
    const lamports = random.between(1, 2 * COIN);
    const base = random.below(4_000_000_000) * 1000;
    return {
      pubkey,
      lamports: String(lamports),
      postBalance: String(base + lamports * (epoch + 1)),
      rewardType: 'Staking',
      commission: random.pick(COMMISSIONS),
    };
  }

  /** Accounts that are never seen again. */
  #rents(random: Random): SimulatedReward[] {
    return Array.from({ length: random.below(8) }, () => ({
      pubkey: this.#draw(random),
      lamports: `-${random.between(1, 900)}`,
      postBalance: String(random.between(1, 2_000_000)),
      rewardType: 'Rent',
      commission: null,
    }));
  }

  /** Two of one key and type, one without a type, a type that does not exist, amounts at the ends of their range. */
  #oddities(random: Random): SimulatedReward[] {
    const pubkey = this.#draw(random);
    const postBalance = random.pick(EXTREMES);
    const lamports = random.pick([
      '-9223372036854775808',
      '9223372036854775807',
      '9007199254740993',
    ]);
    return [
      { pubkey, lamports, postBalance, rewardType: 'Staking', commission: 255 },
      { pubkey, lamports: '-1', postBalance, rewardType: 'Staking', commission: null },
      { pubkey, lamports: '7', postBalance: '0', rewardType: null, commission: null },
      { pubkey, lamports: '7', postBalance: '0', rewardType: 'DeactivatedStake', commission: 0 },
      { pubkey, lamports: '8', postBalance: '1', rewardType: 'Gratitude', commission: 3 },
    ];
  }

  #draw(random: Random): string {
    const { passing } = this.#pool;
    passing.clear();
    return this.#pool.read(drawAddress(random, passing));
  }
}

export function voterReward(world: World, validator: number, pubkey: string): SimulatedReward {
  return {
    pubkey,
    lamports: String(VOTING_LAMPORTS),
    postBalance: String(world.lamports(world.voteAccounts + validator)),
    rewardType: 'Voting',
    commission: COMMISSIONS[validator % COMMISSIONS.length] as number,
  };
}
