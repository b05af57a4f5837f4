import type { Reward } from '../ledger/block.ts';
import type { BlockReader } from './block-reader.ts';

/** Known types by their lower-case form: archives differ in case. The set is open. */
const canonicalTypes = new Map(
  ['Fee', 'Rent', 'Staking', 'Voting', 'DeactivatedStake'].map((type) => [
    type.toLowerCase(),
    type,
  ]),
);

/** The block's rewards in their canonical order; null if the source sent none at all. */
export function readRewards(reader: BlockReader, value: unknown): Reward[] | null {
  if (value === undefined || value === null) return null;
  const list = reader.array(value, 'rewards');
  const rewards = new Array<Reward>(list.length);
  for (let i = 0; i < list.length; i++) rewards[i] = readReward(reader, list[i], i);
  return rewards.sort(compareRewards);
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
