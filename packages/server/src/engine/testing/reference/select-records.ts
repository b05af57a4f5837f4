/**
 * Selects the records of a block: those that match an item, and those that the item's relations add. An added record adds no further ones.
 */
import type {
  Balance,
  Block,
  Instruction,
  Log,
  Reward,
  TokenBalance,
  Transaction,
} from '@sluice/ledger/block';
import { isAncestorAddress } from '@sluice/ledger/primitives';
import type { Selection } from '../../../query/query.ts';
import { matchesRecord } from './match-record.ts';

export interface SelectedRecords {
  readonly transactions: Set<Transaction>;
  readonly instructions: Set<Instruction>;
  readonly logs: Set<Log>;
  readonly balances: Set<Balance>;
  readonly tokenBalances: Set<TokenBalance>;
  readonly rewards: Set<Reward>;
}

export function selectRecords(selection: Selection, block: Block): SelectedRecords {
  const selected: SelectedRecords = {
    transactions: new Set(),
    instructions: new Set(),
    logs: new Set(),
    balances: new Set(),
    tokenBalances: new Set(),
    rewards: new Set(),
  };
  selectByTransactions(selection, block, selected);
  selectByInstructions(selection, block, selected);
  selectByLogs(selection, block, selected);
  selectByBalances(selection, block, selected);
  selectByTokenBalances(selection, block, selected);
  for (const item of selection.rewards) {
    addAll(selected.rewards, block.rewards, (reward) => matchesRecord('rewards', item, reward));
  }
  return selected;
}

function addAll<Row>(
  selected: Set<Row>,
  records: readonly Row[],
  isWanted: (record: Row) => boolean,
): void {
  for (const record of records) {
    if (isWanted(record)) selected.add(record);
  }
}

interface InTransaction {
  readonly transactionIndex: number;
}

/** Returns a test for records of the same transaction. */
function sameTransaction(match: InTransaction): (record: InTransaction) => boolean {
  return (record) => record.transactionIndex === match.transactionIndex;
}

function sameInstruction(match: Instruction | Log): (record: Instruction | Log) => boolean {
  const address = match.instructionAddress.join();
  return (record) => sameTransaction(match)(record) && record.instructionAddress.join() === address;
}

function selectByTransactions(selection: Selection, block: Block, selected: SelectedRecords): void {
  for (const item of selection.transactions) {
    const { relations } = item;
    for (const match of block.transactions) {
      if (!matchesRecord('transactions', item, match)) continue;
      const isSame = sameTransaction(match);
      selected.transactions.add(match);
      if (relations.instructions) addAll(selected.instructions, block.instructions, isSame);
      if (relations.balances) addAll(selected.balances, block.balances, isSame);
      if (relations.tokenBalances) addAll(selected.tokenBalances, block.tokenBalances, isSame);
      if (relations.logs) addAll(selected.logs, block.logs, isSame);
    }
  }
}

function selectByInstructions(selection: Selection, block: Block, selected: SelectedRecords): void {
  for (const item of selection.instructions) {
    for (const match of block.instructions) {
      if (!matchesRecord('instructions', item, match)) continue;
      selected.instructions.add(match);
      relateToInstruction(item.relations, match, block, selected);
    }
  }
}

function relateToInstruction(
  relations: Selection['instructions'][number]['relations'],
  match: Instruction,
  block: Block,
  selected: SelectedRecords,
): void {
  const isSame = sameTransaction(match);
  const own = match.instructionAddress;
  if (relations.transaction) addAll(selected.transactions, block.transactions, isSame);
  if (relations.transactionBalances) addAll(selected.balances, block.balances, isSame);
  if (relations.transactionTokenBalances) {
    addAll(selected.tokenBalances, block.tokenBalances, isSame);
  }
  if (relations.transactionInstructions) addAll(selected.instructions, block.instructions, isSame);
  if (relations.innerInstructions) {
    addAll(
      selected.instructions,
      block.instructions,
      (record) => isSame(record) && isAncestorAddress(own, record.instructionAddress),
    );
  }
  if (relations.parentInstructions) {
    addAll(
      selected.instructions,
      block.instructions,
      (record) => isSame(record) && isAncestorAddress(record.instructionAddress, own),
    );
  }
  if (relations.logs) addAll(selected.logs, block.logs, sameInstruction(match));
}

function selectByLogs(selection: Selection, block: Block, selected: SelectedRecords): void {
  for (const item of selection.logs) {
    const { relations } = item;
    for (const match of block.logs) {
      if (!matchesRecord('logs', item, match)) continue;
      selected.logs.add(match);
      if (relations.instruction) {
        addAll(selected.instructions, block.instructions, sameInstruction(match));
      }
      if (relations.transaction) {
        addAll(selected.transactions, block.transactions, sameTransaction(match));
      }
    }
  }
}

function selectByBalances(selection: Selection, block: Block, selected: SelectedRecords): void {
  for (const item of selection.balances) {
    const { relations } = item;
    for (const match of block.balances) {
      if (!matchesRecord('balances', item, match)) continue;
      const isSame = sameTransaction(match);
      selected.balances.add(match);
      if (relations.transaction) addAll(selected.transactions, block.transactions, isSame);
      if (relations.transactionInstructions) {
        addAll(selected.instructions, block.instructions, isSame);
      }
    }
  }
}

function selectByTokenBalances(
  selection: Selection,
  block: Block,
  selected: SelectedRecords,
): void {
  for (const item of selection.tokenBalances) {
    const { relations } = item;
    for (const match of block.tokenBalances) {
      if (!matchesRecord('tokenBalances', item, match)) continue;
      const isSame = sameTransaction(match);
      selected.tokenBalances.add(match);
      if (relations.transaction) addAll(selected.transactions, block.transactions, isSame);
      if (relations.transactionInstructions) {
        addAll(selected.instructions, block.instructions, isSame);
      }
      if (relations.transactionBalances) addAll(selected.balances, block.balances, isSame);
      if (relations.transactionTokenBalances) {
        addAll(selected.tokenBalances, block.tokenBalances, isSame);
      }
    }
  }
}
