/** The records of a block by transaction, for checks that read whole transactions. */
import assert from 'node:assert/strict';
import { decodeBase58 } from '@sluice/base/base58';
import type {
  Balance,
  Block,
  Instruction,
  Log,
  TokenBalance,
  Transaction,
} from '../../packages/ledger/src/block.ts';

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
export const WRAPPED = 'So11111111111111111111111111111111111111112';
/** The lamports of an account of the wrapped coin that are not part of its amount. */
export const TOKEN_RENT = 2_039_280n;
/** The first byte of the data of the token programs' instructions. */
export const TRANSFER = 3;
export const MINT_TO = 7;
export const TRANSFER_CHECKED = 12;

/** One instruction. Its data is decoded when it is read for the first time. */
export class Call {
  readonly row: Instruction;
  /** The position in the call tree as text: `2.0` is the first call made by top-level instruction 2. */
  readonly path: string;
  readonly parentPath: string;
  #data: Buffer | undefined;

  constructor(row: Instruction) {
    this.row = row;
    this.path = pathOf(row);
    this.parentPath = row.instructionAddress.slice(0, -1).join('.');
  }

  get data(): Buffer {
    this.#data ??= decode(this.row.data);
    return this.#data;
  }

  get isToken(): boolean {
    return this.row.programId === TOKEN || this.row.programId === TOKEN_2022;
  }
}

export interface TransactionRecords {
  /** Slot and index, for messages. */
  readonly place: string;
  readonly transaction: Transaction;
  readonly balances: readonly Balance[];
  readonly held: readonly TokenBalance[];
  readonly calls: readonly Call[];
  readonly logs: readonly Log[];
}

export function splitBlock(block: Block): TransactionRecords[] {
  const balances = groupByTransaction(block.balances);
  const held = groupByTransaction(block.tokenBalances);
  const instructions = groupByTransaction(block.instructions);
  const logs = groupByTransaction(block.logs);
  return block.transactions.map((transaction) => {
    const { transactionIndex: index } = transaction;
    return {
      place: `${block.header.number}/${index}`,
      transaction,
      balances: balances.get(index) ?? [],
      held: held.get(index) ?? [],
      calls: (instructions.get(index) ?? []).map((row) => new Call(row)),
      logs: logs.get(index) ?? [],
    };
  });
}

export function pathOf({ instructionAddress }: Pick<Instruction, 'instructionAddress'>): string {
  return instructionAddress.join('.');
}

function decode(data: string): Buffer {
  const bytes = decodeBase58(data);
  assert(bytes !== undefined, 'data is base58');
  return Buffer.from(bytes);
}

function groupByTransaction<Row extends { readonly transactionIndex: number }>(
  rows: readonly Row[],
): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.transactionIndex);
    if (group === undefined) groups.set(row.transactionIndex, [row]);
    else group.push(row);
  }
  return groups;
}
