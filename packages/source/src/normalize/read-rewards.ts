import { base58Value } from '@sluice/base/base58';
import type { Reward } from '@sluice/ledger/block';
import type { BlockReader } from './block-reader.ts';

/** The known types by their lower-case form, because archives differ in case. Other types are kept as they are. */
const canonicalTypes = new Map(
  ['Fee', 'Rent', 'Staking', 'Voting', 'DeactivatedStake'].map((type) => [
    type.toLowerCase(),
    type,
  ]),
);

/** Returns the rewards of a block in canonical order, or null if the source sent none. */
export function readRewards(reader: BlockReader, value: unknown): Reward[] | null {
  if (value === undefined || value === null) return null;
  const list = reader.array(value, 'rewards');
  const rewards = new Array<Reward>(list.length);
  for (let i = 0; i < list.length; i++) rewards[i] = readReward(reader, list[i], i);
  return sortRewards(rewards);
}

function readReward(reader: BlockReader, entry: unknown, index: number): Reward {
  const raw = reader.object<'pubkey' | 'lamports' | 'postBalance' | 'rewardType' | 'commission'>(
    entry,
    'rewards',
    index,
  );
  return {
    pubKey: reader.address(raw.pubkey, 'rewards.pubkey', index),
    lamports: reader.i64(raw.lamports, 'rewards.lamports', index),
    postBalance: reader.u64(raw.postBalance, 'rewards.postBalance', index),
    rewardType: readType(reader, raw.rewardType, index),
    commission:
      raw.commission === undefined || raw.commission === null
        ? null
        : reader.count(raw.commission, 255, 'rewards.commission'),
  };
}

function readType(reader: BlockReader, value: unknown, index: number): string | null {
  if (value === undefined || value === null) return null;
  const text = reader.text(value, 'rewards.rewardType', index);
  return canonicalTypes.get(text.toLowerCase()) ?? text;
}

// A number has space for six base58 characters and an index of 17 bits: 58^6 × 2^17 < 2^53.
const prefixLength = 6;
const indexCount = 2 ** 17;
const movesPerRewardMax = 8;

/**
 * Sorts the rewards as numbers: the first characters of the address, which nearly always decide, and below them the index in the
 * list. This is several times faster than comparing texts; the first block of an epoch has ten thousand rewards.
 */
function sortRewards(rewards: Reward[]): Reward[] {
  if (rewards.length < 64 || rewards.length > indexCount) return rewards.sort(compareRewards);
  const order = new Float64Array(rewards.length);
  for (let i = 0; i < rewards.length; i++) {
    order[i] = prefixOf((rewards[i] as Reward).pubKey) * indexCount + i;
  }
  order.sort();
  const sorted = new Array<Reward>(rewards.length);
  let moveCount = 0;
  for (let i = 0; i < sorted.length; i++) {
    const reward = rewards[(order[i] as number) % indexCount] as Reward;
    let at = i;
    for (; at > 0 && compareRewards(sorted[at - 1] as Reward, reward) > 0; at--, moveCount++) {
      sorted[at] = sorted[at - 1] as Reward;
    }
    sorted[at] = reward;
    // If many rewards have the same prefix, such as those of one account, comparing texts is faster.
    if (moveCount > movesPerRewardMax * sorted.length) return rewards.sort(compareRewards);
  }
  return sorted;
}

/** Returns the first characters of an address as a number that sorts like them. */
function prefixOf(address: string): number {
  let prefix = 0;
  for (let i = 0; i < prefixLength; i++) prefix = prefix * 58 + base58Value(address.charCodeAt(i));
  return prefix;
}

function compareRewards(a: Reward, b: Reward): number {
  if (a.pubKey !== b.pubKey) return a.pubKey < b.pubKey ? -1 : 1;
  if (a.rewardType !== b.rewardType) {
    if (a.rewardType === null) return -1;
    if (b.rewardType === null) return 1;
    return a.rewardType < b.rewardType ? -1 : 1;
  }
  if (a.lamports !== b.lamports) return a.lamports < b.lamports ? -1 : 1;
  if (a.postBalance !== b.postBalance) return a.postBalance < b.postBalance ? -1 : 1;
  return (a.commission ?? -1) - (b.commission ?? -1);
}
