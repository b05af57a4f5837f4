/** Whether a record satisfies every filter of an item. A record that lacks the filtered value never matches. */
import { base58 } from '@scure/base';
import type {
  Balance,
  Instruction,
  Log,
  Reward,
  TokenBalance,
  Transaction,
} from '../../ledger/block.ts';
import type { Address } from '../../ledger/primitives.ts';
import type {
  AddressList,
  BalanceItem,
  InstructionItem,
  LogItem,
  RewardItem,
  TokenBalanceItem,
  TransactionItem,
} from '../../query/query.ts';

function isOneOf(list: AddressList | undefined, address: Address | null | undefined): boolean {
  if (list === undefined) return true;
  return address !== null && address !== undefined && list.includes(address);
}

function mentionsOneOf(list: AddressList | undefined, addresses: readonly Address[]): boolean {
  return list === undefined || addresses.some((address) => list.includes(address));
}

export function matchesTransaction(item: TransactionItem, record: Transaction): boolean {
  const { feePayer, mentionsAccount } = item.filters;
  const { accountKeys, loadedAddresses } = record;
  return (
    isOneOf(feePayer, accountKeys[0]) &&
    mentionsOneOf(mentionsAccount, [
      ...accountKeys,
      ...loadedAddresses.writable,
      ...loadedAddresses.readonly,
    ])
  );
}

export function matchesInstruction(item: InstructionItem, record: Instruction): boolean {
  const { filters } = item;
  return (
    isOneOf(filters.programId, record.programId) &&
    mentionsOneOf(filters.mentionsAccount, record.accounts) &&
    (filters.isCommitted === undefined || filters.isCommitted === record.isCommitted) &&
    matchesPositions(filters, record) &&
    matchesData(filters, record)
  );
}

function matchesPositions(filters: InstructionItem['filters'], record: Instruction): boolean {
  const positions = [
    ...[filters.a0, filters.a1, filters.a2, filters.a3, filters.a4, filters.a5, filters.a6],
    ...[filters.a7, filters.a8, filters.a9, filters.a10, filters.a11, filters.a12, filters.a13],
    ...[filters.a14, filters.a15],
  ];
  return positions.every((list, index) => isOneOf(list, record.accounts[index]));
}

function matchesData(filters: InstructionItem['filters'], record: Instruction): boolean {
  const lists = [
    ...[filters.d1, filters.d2, filters.d3, filters.d4, filters.d5, filters.d6, filters.d7],
    ...[filters.d8, filters.discriminator],
  ].filter((list) => list !== undefined);
  const hex = lists.length === 0 ? '' : dataToHex(record.data);
  // A value of N bytes starts no text of fewer, so data that is too short never matches.
  return lists.every((list) => list.some((start) => hex.startsWith(start)));
}

/** `0x` and all the data. */
export function dataToHex(data: string): string {
  return `0x${Buffer.from(base58.decode(data)).toString('hex')}`;
}

export function matchesLog(item: LogItem, record: Log): boolean {
  const { programId, kind } = item.filters;
  return isOneOf(programId, record.programId) && (kind === undefined || kind.includes(record.kind));
}

export function matchesBalance(item: BalanceItem, record: Balance): boolean {
  return isOneOf(item.filters.account, record.account);
}

export function matchesTokenBalance(item: TokenBalanceItem, record: TokenBalance): boolean {
  const { filters } = item;
  return (
    isOneOf(filters.account, record.account) &&
    isOneOf(filters.preProgramId, record.preProgramId) &&
    isOneOf(filters.postProgramId, record.postProgramId) &&
    isOneOf(filters.preMint, record.preMint) &&
    isOneOf(filters.postMint, record.postMint) &&
    isOneOf(filters.preOwner, record.preOwner) &&
    isOneOf(filters.postOwner, record.postOwner)
  );
}

export function matchesReward(item: RewardItem, record: Reward): boolean {
  return isOneOf(item.filters.pubkey, record.pubKey);
}
