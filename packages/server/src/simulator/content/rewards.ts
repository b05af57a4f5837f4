/**
 * The rewards of a block: of its leader, of voters and stakers after the start of an epoch, and at the end of a window of the
 * stake that refilled the faucet. Accounts that no transaction names have closed forms, so they need no state.
 */
import type { Random } from '../../base/random.ts';
import type { ChainBlock } from '../chain/chain-block.ts';
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
/** Two rewards of one key and type, one without a type, an unknown type, and amounts at the ends of their range. */
const ODD_REWARDS: readonly Omit<SimulatedReward, 'pubkey'>[] = [
  reward('-9223372036854775808', '18446744073709551615', 'Staking', 255),
  reward('9223372036854775807', '9007199254740993', 'Staking', null),
  reward('7', '0', null, null),
  reward('9007199254740993', '0', 'DeactivatedStake', 0),
  reward('8', '1', 'Gratitude', 3),
];

function reward(
  lamports: string,
  postBalance: string,
  rewardType: string | null,
  commission: number | null,
): Omit<SimulatedReward, 'pubkey'> {
  return { lamports, postBalance, rewardType, commission };
}

export function leaderOf(world: World, slot: number): number {
  return world.identities + (Math.floor(slot / SLOTS_PER_LEADER) % world.validatorCount);
}

/** The slots of an epoch in which rewards are paid. */
function payingSlots({ slotsPerEpoch }: ContentOptions): number {
  return Math.min(EPOCH_REWARD_SLOTS, slotsPerEpoch);
}

/** The lamports of a vote account before the slot: it earns the same in every epoch, in a slot of its own. */
export function voteLamports(options: ContentOptions, validator: number, slot: number): number {
  const offset = validator % payingSlots(options);
  const paidCount = Math.max(0, Math.floor((slot - 1 - offset) / options.slotsPerEpoch) + 1);
  return rentOf(VOTE_BYTES) + paidCount * VOTING_LAMPORTS;
}

/** The slots since the parent that pay rewards, by epoch and offset in it. */
function listPayments(options: ContentOptions, { slot, parentSlot }: ChainBlock) {
  const payments: { epoch: number; offset: number }[] = [];
  for (let at = slot === 0 ? 0 : parentSlot + 1; at <= slot; at++) {
    const epoch = Math.floor(at / options.slotsPerEpoch);
    const offset = at - epoch * options.slotsPerEpoch;
    if (offset < payingSlots(options)) payments.push({ epoch, offset });
  }
  return payments;
}

/** Pays the vote accounts of the block's slots, before its transactions. Returns their validators. */
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

export function voterReward(world: World, validator: number, pubkey: string): SimulatedReward {
  return {
    pubkey,
    lamports: String(VOTING_LAMPORTS),
    postBalance: String(world.lamports(world.voteAccounts + validator)),
    rewardType: 'Voting',
    commission: COMMISSIONS[validator % COMMISSIONS.length] as number,
  };
}

/** Rewards of accounts outside the world: stakers, and in some eras those who paid rent. */
export function listOutsideRewards(
  block: ChainBlock,
  options: ContentOptions,
  modules: { readonly pool: TextPool; readonly random: Random },
): SimulatedReward[] {
  const { epochRewardsPerBlock: count, stress, era } = options;
  const rewards: SimulatedReward[] = [];
  const draw = (random: Random): string => {
    modules.pool.passing.clear();
    return modules.pool.read(drawAddress(random, modules.pool.passing));
  };
  for (const { epoch, offset } of listPayments(options, block)) {
    for (let i = 0; i < count; i++) {
      // A staker earns the same in every epoch.
      const random = modules.random.fork('staker', offset * count + i);
      const pubkey = draw(random);
      const lamports = random.between(1, 2 * COIN);
      const postBalance = random.below(4_000_000_000) * 1000 + lamports * (epoch + 1);
      const row = reward(
        String(lamports),
        String(postBalance),
        'Staking',
        random.pick(COMMISSIONS),
      );
      rewards.push({ pubkey, ...row });
    }
  }
  const random = modules.random.fork('rewards', block.branch, block.slot);
  for (let i = ERA_RULES[era].hasRent ? random.below(8) : 0; i > 0; i--) {
    const balance = String(random.between(1, 2_000_000));
    const row = reward(`-${random.between(1, 900)}`, balance, 'Rent', null);
    rewards.push({ pubkey: draw(random), ...row });
  }
  const pubkey = draw(random);
  if (stress) rewards.push(...ODD_REWARDS.map((row) => ({ pubkey, ...row })));
  return rewards;
}
