import type { Block } from '@sluice/ledger/block';

/** The number of records of each kind in a block, which the header field `recordCounts` reports. */
export interface BlockCounts {
  readonly transactions: number;
  readonly instructions: number;
  readonly logs: number;
  readonly balances: number;
  readonly tokenBalances: number;
  readonly rewards: number;
}

export function addCounts(a: BlockCounts, b: BlockCounts): BlockCounts {
  return {
    transactions: a.transactions + b.transactions,
    instructions: a.instructions + b.instructions,
    logs: a.logs + b.logs,
    balances: a.balances + b.balances,
    tokenBalances: a.tokenBalances + b.tokenBalances,
    rewards: a.rewards + b.rewards,
  };
}

export function countRecords(block: Block): BlockCounts {
  return {
    transactions: block.transactions.length,
    instructions: block.instructions.length,
    logs: block.logs.length,
    balances: block.balances.length,
    tokenBalances: block.tokenBalances.length,
    rewards: block.rewards.length,
  };
}
