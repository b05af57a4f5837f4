/** What a block pays: its leader, and after the start of an epoch those who staked and voted. */
import type { Random } from '../../base/random.ts';
import type { AddressBook } from './address-book.ts';
import { EXTREMES } from './balances.ts';
import type { ContentOptions } from './content-options.ts';
import { ERA_RULES } from './eras.ts';
import type { SimulatedReward } from './simulated-block.ts';
import { VALIDATOR_COUNT } from './votes.ts';

const EPOCH_REWARD_SLOTS = 300;
const SLOTS_PER_LEADER = 4;

export function drawRewards(
  plan: { readonly slot: number; readonly feeLamports: number },
  modules: {
    readonly book: AddressBook;
    readonly options: ContentOptions;
    readonly random: Random;
  },
): SimulatedReward[] {
  const { book, options, random } = modules;
  const leader = Math.floor(plan.slot / SLOTS_PER_LEADER) % VALIDATOR_COUNT;
  const rewards: SimulatedReward[] = [
    {
      pubkey: book.address('validator', leader),
      lamports: String(Math.floor(plan.feeLamports / 2)),
      postBalance: String(random.between(1, 4_000_000) * 100_000),
      rewardType: 'Fee',
      commission: null,
    },
  ];
  if (plan.slot % options.slotsPerEpoch < EPOCH_REWARD_SLOTS) {
    for (let i = 0; i < options.epochRewardsPerBlock; i++)
      rewards.push(drawEpochReward(book, random));
  }
  if (ERA_RULES[options.era].hasRent) rewards.push(...drawRent(book, random));
  if (options.stress) rewards.push(...drawOddRewards(book, random));
  return rewards;
}

function drawEpochReward(book: AddressBook, random: Random): SimulatedReward {
  const isVoting = random.chance(0.05);
  const pubkey = isVoting
    ? book.address('voteAccount', random.below(VALIDATOR_COUNT))
    : book.address('staker', random.below(1_000_000));
  const lamports = random.between(1, 2_000_000_000);
  return {
    pubkey,
    lamports: String(lamports),
    postBalance: String(lamports + random.below(4_000_000_000) * 1000),
    rewardType: isVoting ? 'Voting' : 'Staking',
    commission: random.pick([0, 5, 7, 8, 10, 100]),
  };
}

function drawRent(book: AddressBook, random: Random): SimulatedReward[] {
  return Array.from({ length: random.below(8) }, () => ({
    pubkey: book.address('account', random.below(1_000_000)),
    lamports: `-${random.between(1, 900)}`,
    postBalance: String(random.between(1, 2_000_000)),
    rewardType: 'Rent',
    commission: null,
  }));
}

/** Two of one key and type, none of any type, a type nobody knows, amounts at the ends of their range. */
function drawOddRewards(book: AddressBook, random: Random): SimulatedReward[] {
  const pubkey = book.address('staker', random.below(50));
  const postBalance = random.pick(EXTREMES);
  const lamports = random.pick(['-9223372036854775808', '9223372036854775807', '9007199254740993']);
  return [
    { pubkey, lamports, postBalance, rewardType: 'Staking', commission: 255 },
    { pubkey, lamports: '-1', postBalance, rewardType: 'Staking', commission: null },
    { pubkey, lamports: '7', postBalance: '0', rewardType: null, commission: null },
    { pubkey, lamports: '7', postBalance: '0', rewardType: 'DeactivatedStake', commission: 0 },
    { pubkey, lamports: '8', postBalance: '1', rewardType: 'Gratitude', commission: 3 },
  ];
}
