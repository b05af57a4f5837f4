import { ByteCursor, type Integer } from '../binary/byte-cursor.ts';

/** Reward types in the order of their numbers in bincode. */
const rewardTypes = ['Fee', 'Rent', 'Staking', 'Voting'] as const;

/** The optional values after the amount of a reward. Each was added later than the one before it. */
const tailNames = ['postBalance', 'rewardType', 'commission'] as const;

/**
 * Reads a list of rewards in bincode, in the newest form that fits its bytes. Returns undefined for a protobuf: a list in bincode begins
 * with its length in 64 bits, so its upper half is zero.
 */
export function readBincodeRewards(cursor: ByteCursor): unknown[] | undefined {
  const { bytes, at, end, origin } = cursor;
  if (end - at < 8 || bytes.subarray(at + 4, at + 8).some((byte) => byte !== 0)) return undefined;
  for (let tail = tailNames.length; tail >= 0; tail--) {
    const rewards = readAs(new ByteCursor(bytes, origin, at, end), tail);
    if (rewards !== undefined) return rewards;
  }
  return cursor.fail('a list of rewards in an unknown form');
}

/** Reads the rewards with the first `tail` optional values. Returns undefined if the bytes do not fit. */
function readAs(cursor: ByteCursor, tail: number): unknown[] | undefined {
  const count = Number(cursor.u64());
  const rewards: unknown[] = [];
  for (let i = 0; i < count; i++) {
    const reward = readReward(cursor, tail);
    if (reward === undefined) return undefined;
    rewards.push(reward);
  }
  return cursor.isAtEnd ? rewards : undefined;
}

function readReward(cursor: ByteCursor, tail: number): unknown {
  const fixedBytes = tail > 0 ? 16 : 8;
  const length = leftOf(cursor) < 8 ? undefined : Number(cursor.u64());
  if (length === undefined || length > 44 || leftOf(cursor) < length + fixedBytes) return undefined;
  const pubkey = cursor.text(length);
  const lamports = cursor.i64();
  const postBalance: Integer = tail > 0 ? cursor.u64() : 0;
  const type = tail > 1 ? readOptional(cursor, 4) : null;
  if (type === undefined || (type !== null && rewardTypes[type] === undefined)) return undefined;
  const commission = tail > 2 ? readOptional(cursor, 1) : null;
  if (commission === undefined) return undefined;
  const rewardType = type === null ? null : rewardTypes[type];
  return { pubkey, lamports, postBalance, rewardType, commission };
}

/** Reads an optional integer of one or four bytes. Returns undefined if the bytes do not fit. */
function readOptional(cursor: ByteCursor, byteCount: 1 | 4): number | null | undefined {
  const presence = leftOf(cursor) === 0 ? undefined : cursor.u8();
  if (presence === 0) return null;
  if (presence !== 1 || leftOf(cursor) < byteCount) return undefined;
  return byteCount === 1 ? cursor.u8() : cursor.u32();
}

function leftOf({ at, end }: ByteCursor): number {
  return end - at;
}
