import type { AddressTableLookup, Block, Instruction, Transaction } from '@sluice/ledger/block';
import { discriminator } from '@sluice/ledger/discriminator';
import type { TableName } from './tables.ts';

/**
 * Writes the rows of a block for the tables of `tables.ts` as JSON lines. Quantities are text, so that no digit is lost.
 */
export function writeRows(block: Block): Readonly<Record<TableName, string>> {
  const { header } = block;
  const key = { block: header.number };
  return {
    blocks: toLines([header]),
    transactions: toLines(block.transactions.map((row) => ({ ...key, ...transactionRow(row) }))),
    instructions: toLines(block.instructions.map((row) => ({ ...key, ...instructionRow(row) }))),
    logs: toLines(block.logs.map((row) => ({ ...key, ...row }))),
    balances: toLines(block.balances.map((row) => ({ ...key, ...row }))),
    tokenBalances: toLines(block.tokenBalances.map((row) => ({ ...key, ...row }))),
    rewards: toLines(block.rewards.map((row) => ({ ...key, ...row }))),
  };
}

function toLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row, quantityToText)}\n`).join('');
}

function quantityToText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function transactionRow(row: Transaction) {
  return {
    ...row,
    addressTableLookups: row.addressTableLookups.map(lookupRow),
    loadedAddresses: {
      readonly: row.loadedAddresses.readonly,
      writable: row.loadedAddresses.writable,
    },
    feePayer: row.accountKeys[0] ?? null,
  };
}

function lookupRow({ accountKey, readonlyIndexes, writableIndexes }: AddressTableLookup) {
  return { accountKey, readonlyIndexes, writableIndexes };
}

function instructionRow(row: Instruction) {
  const longest = discriminator(row.data, 8);
  const start = (bytes: number) =>
    longest === null ? discriminator(row.data, bytes) : longest.slice(0, 2 + 2 * bytes);
  return { ...row, d1: start(1), d2: start(2), d4: start(4), d8: longest };
}
