/** Computes the rows of the tables of the storm from blocks as a node returns them, without code of Sluice. */
export interface NodeBlock {
  readonly blockTime: number;
  readonly transactions: readonly NodeTransaction[];
}

interface NodeInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
  readonly stackHeight: number | null;
}

interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly uiTokenAmount: { readonly amount: string; readonly decimals: number };
}

interface NodeTransaction {
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly message: {
      readonly accountKeys: readonly string[];
      readonly instructions: readonly NodeInstruction[];
    };
  };
  readonly meta: {
    readonly err: unknown;
    readonly fee: number;
    readonly innerInstructions: readonly {
      readonly index: number;
      readonly instructions: readonly NodeInstruction[];
    }[];
    readonly preTokenBalances: readonly TokenBalance[];
    readonly postTokenBalances: readonly TokenBalance[];
    readonly loadedAddresses?: {
      readonly writable: readonly string[];
      readonly readonly: readonly string[];
    };
  };
}

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function decodeBase58(text: string): Buffer {
  let value = 0n;
  for (const letter of text) value = value * 58n + BigInt(alphabet.indexOf(letter));
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const hex = value === 0n ? '' : value.toString(16);
  return Buffer.concat([
    Buffer.alloc(zeros),
    Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'),
  ]);
}

function keysOf({ transaction, meta }: NodeTransaction): readonly string[] {
  const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
  return [...transaction.message.accountKeys, ...writable, ...readonly];
}

/** Returns all calls of a transaction with their positions in the call tree. */
function callsOf({ transaction, meta }: NodeTransaction) {
  return transaction.message.instructions.flatMap((instruction, index) => {
    const path = [index];
    const counts: number[] = [];
    const inner = meta.innerInstructions.find((one) => one.index === index)?.instructions ?? [];
    const calls = inner.map((call) => {
      const depth = (call.stackHeight ?? 2) - 1;
      counts.length = depth;
      counts[depth - 1] = (counts[depth - 1] ?? -1) + 1;
      return { path: [...path, ...counts], instruction: call };
    });
    return [{ path, instruction }, ...calls];
  });
}

export type ExpectedRows = Readonly<Record<'transactions' | 'moves' | 'transfers', string[]>>;

/** Returns the rows of a block as text, in the order of their keys. */
export function expectRows(slot: number, block: NodeBlock): ExpectedRows {
  const transactions: string[] = [];
  const moves: string[] = [];
  const transfers: string[] = [];
  for (const [index, transaction] of block.transactions.entries()) {
    const { meta } = transaction;
    const keys = keysOf(transaction);
    const [signature] = transaction.transaction.signatures;
    transactions.push([slot, index, signature, keys[0], meta.fee, block.blockTime].join(' '));
    moves.push(...expectMoves(slot, index, transaction));
    if (meta.err !== null) continue;
    for (const { path, instruction } of callsOf(transaction)) {
      const data = decodeBase58(instruction.data);
      if (keys[instruction.programIdIndex] !== tokenProgram || data[0] !== 3) continue;
      const accounts = instruction.accounts.map((at) => keys[at]);
      const amount = data.readBigUInt64LE(1);
      transfers.push(
        [slot, index, path.join('.'), signature, amount, accounts[0], accounts[1]].join(' '),
      );
    }
  }
  return { transactions, moves: moves.sort(), transfers };
}

function expectMoves(slot: number, index: number, transaction: NodeTransaction): string[] {
  const { preTokenBalances: before, postTokenBalances: after } = transaction.meta;
  const accounts = new Set([...before, ...after].map(({ accountIndex }) => accountIndex));
  const keys = keysOf(transaction);
  return [...accounts].map((accountIndex) => {
    const find = (list: readonly TokenBalance[]) =>
      list.find((balance) => balance.accountIndex === accountIndex);
    const [pre, post] = [find(before), find(after)];
    const { decimals = 0 } = (post ?? pre)?.uiTokenAmount ?? {};
    const amount = post?.uiTokenAmount.amount;
    const shown = amount === undefined ? '' : divide(BigInt(amount), decimals);
    const values = [pre?.uiTokenAmount.amount ?? '', amount ?? '', shown];
    return [slot, index, keys[accountIndex], ...values].join(' ');
  });
}

function divide(amount: bigint, decimals: number): string {
  const unit = 10n ** BigInt(decimals);
  if (decimals === 0) return String(amount);
  return `${amount / unit}.${String(amount % unit).padStart(decimals, '0')}`;
}
