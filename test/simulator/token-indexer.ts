/**
 * An indexer that keeps the amount of every token account twice: from the instructions of committed transactions alone, and from the
 * token balances alone. It knows the token programs, not the simulator. The first known amount of an account is the one before the
 * first transaction that names it, as for any indexer that starts in the middle of a ledger.
 */
import assert from 'node:assert/strict';
import { decodeBase58 } from '../../packages/server/src/base/base58.ts';
import type { Block, Instruction, TokenBalance } from '../../packages/server/src/ledger/block.ts';

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
export const WRAPPED = 'So11111111111111111111111111111111111111112';
const SYSTEM = '11111111111111111111111111111111';
/** The lamports of an account of the wrapped coin that are not part of its amount. */
const TOKEN_RENT = 2_039_280n;

export function dataOf({ data }: Pick<Instruction, 'data'>): Buffer {
  const bytes = decodeBase58(data);
  assert(bytes !== undefined, 'data is base58');
  return Buffer.from(bytes);
}

export function groupByTransaction<Row extends { readonly transactionIndex: number }>(
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

/** Restores a value that indexing a block has replaced. Called when the block is orphaned. */
type Undo = () => void;

class Ledger {
  readonly #values = new Map<string, bigint>();
  undo: Undo[] = [];
  readonly touched = new Set<string>();

  get(account: string): bigint | undefined {
    return this.#values.get(account);
  }

  set(account: string, amount: bigint | undefined): void {
    const before = this.#values.get(account);
    this.touched.add(account);
    this.undo.push(() => this.#put(account, before));
    this.#put(account, amount);
  }

  entries(): IterableIterator<[string, bigint]> {
    return this.#values.entries();
  }

  #put(account: string, amount: bigint | undefined): void {
    if (amount === undefined) this.#values.delete(account);
    else this.#values.set(account, amount);
  }
}

export class TokenIndexer {
  /** Amounts of open accounts, by instructions and by token balances. */
  readonly byInstructions = new Ledger();
  readonly byBalances = new Ledger();
  /** Tokens minted less those burnt, by mint. */
  readonly minted = new Ledger();
  /** Accounts whose amount before a transaction differed from the amount after the previous one. `apply` adds them. */
  readonly jumps: string[] = [];
  /** Lamports that were sent to accounts of the wrapped coin and are not yet part of their amount. */
  readonly #sent = new Ledger();
  #touched: ReadonlySet<string> = new Set();
  readonly #blocks: { slot: number; undo: Undo[] }[] = [];

  /** Indexes the block after the last one. */
  apply(block: Block): void {
    const instructions = groupByTransaction(block.instructions);
    const balances = groupByTransaction(block.tokenBalances);
    for (const { transactionIndex, err } of block.transactions) {
      const rows = balances.get(transactionIndex) ?? [];
      for (const row of rows) this.#checkPreAmount(row);
      if (err === null) {
        for (const row of instructions.get(transactionIndex) ?? []) this.#execute(row);
      }
      for (const row of rows) this.byBalances.set(row.account, row.postAmount ?? undefined);
    }
    this.#touched = new Set([...this.byInstructions.touched, ...this.byBalances.touched]);
    this.byInstructions.touched.clear();
    this.byBalances.touched.clear();
    const ledgers = [this.byInstructions, this.byBalances, this.minted, this.#sent];
    const undo = ledgers.flatMap((ledger) => ledger.undo);
    for (const ledger of ledgers) ledger.undo = [];
    this.#blocks.push({ slot: block.header.number, undo });
  }

  /** Undoes all blocks above a slot, after a fork. */
  rollBackTo(slot: number): void {
    while ((this.#blocks.at(-1)?.slot ?? -1) > slot) {
      const { undo } = this.#blocks.pop() as { undo: Undo[] };
      for (const put of undo.reverse()) put();
    }
  }

  /** Returns the accounts, among those that the last block changed, whose two amounts differ. */
  listNewDifferences(): string[] {
    return this.#compare(this.#touched);
  }

  /** Returns all accounts whose amount by instructions differs from the amount by token balances. */
  listDifferences(): string[] {
    const accounts = [...this.byBalances.entries(), ...this.byInstructions.entries()];
    return this.#compare(new Set(accounts.map(([account]) => account)));
  }

  #compare(accounts: Iterable<string>): string[] {
    const differences: string[] = [];
    for (const account of accounts) {
      const [one, other] = [this.byBalances.get(account), this.byInstructions.get(account)];
      if (one !== other)
        differences.push(`${account}: ${one} by balances, ${other} by instructions`);
    }
    return differences;
  }

  #checkPreAmount({ account, preAmount }: TokenBalance): void {
    const last = this.byBalances.get(account);
    if (last !== undefined && last !== preAmount && this.jumps.length < 20) {
      this.jumps.push(`${account}: ${preAmount} before a transaction, ${last} after the last`);
    }
    if (preAmount === null) return;
    if (last === undefined) this.byBalances.set(account, preAmount);
    if (this.byInstructions.get(account) === undefined) {
      this.byInstructions.set(account, preAmount);
    }
  }

  #execute(row: Instruction): void {
    if (row.programId === SYSTEM) this.#executeSystem(row);
    else if (row.programId === TOKEN || row.programId === TOKEN_2022) this.#executeToken(row);
  }

  #executeSystem(row: Instruction): void {
    const data = dataOf(row);
    const kind = data.readUInt32LE(0);
    const to = row.accounts[1] as string;
    if (kind === 2) this.#send(to, data.readBigUInt64LE(4));
    else if (kind === 0) this.#send(to, data.readBigUInt64LE(4));
    else if (kind === 3) {
      const seedEnd = 44 + Number(data.readBigUInt64LE(36));
      this.#send(to, data.readBigUInt64LE(seedEnd));
    }
  }

  #executeToken(row: Instruction): void {
    const data = dataOf(row);
    const [a0, a1, a2] = row.accounts as readonly string[];
    const amount = data.length >= 9 ? data.readBigUInt64LE(1) : 0n;
    switch (data[0]) {
      case 1:
      case 18:
        // A new account. The amount of an account of the wrapped coin is its lamports beyond the rent.
        this.byInstructions.set(
          a0 as string,
          a1 === WRAPPED ? this.#takeSent(a0 as string) - TOKEN_RENT : 0n,
        );
        if (a1 !== WRAPPED) this.#takeSent(a0 as string);
        break;
      case 3:
        this.#move(a0 as string, a1 as string, amount);
        break;
      case 12:
        this.#move(a0 as string, a2 as string, amount);
        break;
      case 7:
        this.#add(a1 as string, amount);
        this.minted.set(a0 as string, (this.minted.get(a0 as string) ?? 0n) + amount);
        break;
      case 8:
        this.#add(a0 as string, -amount);
        this.minted.set(a1 as string, (this.minted.get(a1 as string) ?? 0n) - amount);
        break;
      case 9:
        this.byInstructions.set(a0 as string, undefined);
        break;
      case 17:
        this.#add(a0 as string, this.#takeSent(a0 as string));
        break;
      default:
    }
  }

  #send(to: string, lamports: bigint): void {
    this.#sent.set(to, (this.#sent.get(to) ?? 0n) + lamports);
  }

  #takeSent(account: string): bigint {
    const sent = this.#sent.get(account) ?? 0n;
    this.#sent.set(account, undefined);
    return sent;
  }

  #move(from: string, to: string, amount: bigint): void {
    this.#add(from, -amount);
    this.#add(to, amount);
  }

  #add(account: string, change: bigint): void {
    this.byInstructions.set(account, (this.byInstructions.get(account) ?? 0n) + change);
  }
}
