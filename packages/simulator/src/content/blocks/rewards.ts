/**
 * The rewards of a block: for its leader, for voters and stakers after the start of an epoch, and at the end of a window for the stake
 * account from which the last transaction took lamports. Formulas give the balances of accounts that no transaction names.
 */
import { elementAt } from '@sluice/base/element-at';
import type { Random } from '@sluice/base/random';
import type { ChainBlock } from '../../chain/chain-block.ts';
import type { ContentOptions } from '../content-options.ts';
import { ERA_RULES } from '../eras.ts';
import type { SimulatedReward } from '../simulated-block.ts';
import type { TextPool } from '../text/text-pool.ts';
import { drawAddress } from '../world/address-book.ts';
import { COIN, rentOf } from '../world/tokens.ts';
import type { World } from '../world/world.ts';

const EPOCH_REWARD_SLOTS = 300;
const SLOTS_PER_LEADER = 4;
const VOTE_BYTES = 3762;
const VOTING_LAMPORTS = 3_000_000;
const COMMISSIONS = [0, 5, 7, 8, 10, 100] as const;

export function leaderOf(world: World, slot: number): number {
  return world.identities + (Math.floor(slot / SLOTS_PER_LEADER) % world.validatorCount);
}

/** Returns the number of slots of an epoch in which rewards are paid. */
function payingSlots({ slotsPerEpoch }: ContentOptions): number {
  return Math.min(EPOCH_REWARD_SLOTS, slotsPerEpoch);
}

/** Returns the lamports of a vote account before a slot. It gets the same reward in every epoch, in one slot. */
export function voteLamports(options: ContentOptions, validator: number, slot: number): number {
  const offset = validator % payingSlots(options);
  const paidCount = Math.max(0, Math.floor((slot - 1 - offset) / options.slotsPerEpoch) + 1);
  return rentOf(VOTE_BYTES) + paidCount * VOTING_LAMPORTS;
}

/** Returns the slots since the parent that pay rewards, by epoch and offset in the epoch. */
function listPayments(options: ContentOptions, { slot, parentSlot }: ChainBlock) {
  const payments: { epoch: number; offset: number }[] = [];
  for (let at = slot === 0 ? 0 : parentSlot + 1; at <= slot; at++) {
    const epoch = Math.floor(at / options.slotsPerEpoch);
    const offset = at - epoch * options.slotsPerEpoch;
    if (offset < payingSlots(options)) payments.push({ epoch, offset });
  }
  return payments;
}

/** Pays a reward to an account of the world and returns its record. */
export type Pay = (
  account: number,
  lamports: number,
  kind: { readonly rewardType: string; readonly commission?: number },
) => SimulatedReward;

/** Pays the vote accounts of the block's slots, before its transactions. */
export function payVoters(
  options: ContentOptions,
  block: ChainBlock,
  { world, pay }: { world: World; pay: Pay },
): SimulatedReward[] {
  const rewards: SimulatedReward[] = [];
  for (const { offset } of listPayments(options, block)) {
    for (let i = offset; i < world.validatorCount; i += payingSlots(options)) {
      const commission = elementAt(COMMISSIONS, i % COMMISSIONS.length);
      const kind = { rewardType: 'Voting', commission };
      rewards.push(pay(world.voteAccounts + i, VOTING_LAMPORTS, kind));
    }
  }
  return rewards;
}

/** Returns the rewards of accounts outside the world: stakers, and in some eras validators that collect rent. */
export function listOutsideRewards(
  block: ChainBlock,
  options: ContentOptions,
  dependencies: { readonly pool: TextPool; readonly random: Random },
): SimulatedReward[] {
  const { epochRewardsPerBlock: count, oddities, era } = options;
  const rewards: SimulatedReward[] = [];
  const draw = (random: Random): string => {
    dependencies.pool.passing.clear();
    return dependencies.pool.read(drawAddress(random, dependencies.pool.passing));
  };
  for (const { epoch, offset } of listPayments(options, block)) {
    for (let i = 0; i < count; i++) {
      // A staker gets the same reward in every epoch.
      const random = dependencies.random.fork('staker', offset * count + i);
      const pubkey = draw(random);
      const lamports = random.between(1, 2 * COIN);
      const postBalance = random.below(4_000_000_000) * 1000 + lamports * (epoch + 1);
      const amounts = { lamports: String(lamports), postBalance: String(postBalance) };
      const commission = random.pick(COMMISSIONS);
      rewards.push({ pubkey, ...amounts, rewardType: 'Staking', commission });
    }
  }
  const random = dependencies.random.fork('rewards', block.branch, block.slot);
  for (let i = ERA_RULES[era].hasRent ? random.below(8) : 0; i > 0; i--) {
    const postBalance = String(random.between(1, 2_000_000));
    const lamports = `-${random.between(1, 900)}`;
    const pubkey = draw(random);
    rewards.push({ pubkey, lamports, postBalance, rewardType: 'Rent', commission: null });
  }
  if (oddities !== null) {
    const pubkey = draw(random);
    rewards.push(...oddities.rewards.map((row) => ({ pubkey, ...row })));
  }
  return rewards;
}
