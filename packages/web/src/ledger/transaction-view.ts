/** A transaction with its records in the order in which they are shown. */
import type { FullBlock } from '@sluice/client';
import type { Token } from './describe-instruction.ts';

export type Transaction = FullBlock['transactions'][number];
export type Instruction = FullBlock['instructions'][number];
export type Log = FullBlock['logs'][number];
export type Balance = FullBlock['balances'][number];
export type TokenBalance = FullBlock['tokenBalances'][number];

export interface TransactionView {
  readonly transaction: Transaction;
  /** The instructions in execution order: a caller comes before its calls. */
  readonly instructions: readonly Instruction[];
  readonly logs: readonly Log[];
  readonly balances: readonly Balance[];
  readonly tokenBalances: readonly TokenBalance[];
}

/** Splits a block into its transactions, each with its own records. */
export function splitBlock(block: FullBlock): readonly TransactionView[] {
  const instructions = groupByTransaction(block.instructions);
  const logs = groupByTransaction(block.logs);
  const balances = groupByTransaction(block.balances);
  const tokenBalances = groupByTransaction(block.tokenBalances);
  return block.transactions.map((transaction) => {
    const { transactionIndex: index } = transaction;
    return {
      transaction,
      instructions: instructions.get(index) ?? [],
      logs: logs.get(index) ?? [],
      balances: balances.get(index) ?? [],
      tokenBalances: tokenBalances.get(index) ?? [],
    };
  });
}

function groupByTransaction<Row extends { readonly transactionIndex: number }>(
  rows: readonly Row[],
): ReadonlyMap<number, readonly Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.transactionIndex);
    if (group === undefined) groups.set(row.transactionIndex, [row]);
    else group.push(row);
  }
  return groups;
}

/** Returns a function that finds the token of a token account or of a mint among the token balances of the transaction. */
export function buildTokenFinder({
  tokenBalances,
}: TransactionView): (address: string) => Token | undefined {
  const tokens = new Map<string, Token>();
  for (const { account, postMint, preMint, postDecimals, preDecimals } of tokenBalances) {
    const mint = postMint ?? preMint;
    const decimals = postDecimals ?? preDecimals;
    if (mint === null || decimals === null) continue;
    tokens.set(account, { mint, decimals }).set(mint, { mint, decimals });
  }
  return (address) => tokens.get(address);
}

export function signatureOf({ signatures }: Transaction): string {
  return signatures[0] ?? '';
}

/** Returns the deepest program that failed. Its callers passed its error on. */
export function failedProgram({ instructions }: TransactionView): string | undefined {
  let deepest: Instruction | undefined;
  for (const instruction of instructions) {
    if (instruction.error === null) continue;
    const depth = deepest?.instructionAddress.length ?? 0;
    if (instruction.instructionAddress.length > depth) deepest = instruction;
  }
  return deepest?.programId;
}

/** Returns the different programs of the top-level instructions, without the compute budget program. */
export function programsOf({ instructions }: TransactionView): readonly string[] {
  const budget = 'ComputeBudget111111111111111111111111111111';
  const top = instructions.filter(({ instructionAddress }) => instructionAddress.length === 1);
  const programs = [...new Set(top.map(({ programId }) => programId))];
  return programs.length > 1 ? programs.filter((id) => id !== budget) : programs;
}
