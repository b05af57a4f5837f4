/**
 * An indexer that keeps the amount of every token account twice: from the instructions of committed transactions alone, and from the
 * token balances alone. It knows the token programs, not the simulator. The first known amount of an account is the one before the
 * first transaction that names it, as for any indexer that starts in the middle of a ledger.
 */
import type { TokenBalance } from '../../packages/ledger/src/block.ts';
import {
  type Call,
  MINT_TO,
  TOKEN_RENT,
  TRANSFER,
  TRANSFER_CHECKED,
  type TransactionRecords,
  WRAPPED,
} from './transaction-records.ts';
import { UndoableMap, type UndoLog } from './undo-log.ts';

const SYSTEM = '11111111111111111111111111111111';
const INITIALIZE_ACCOUNT = 1;
const BURN = 8;
const CLOSE_ACCOUNT = 9;
const SYNC_NATIVE = 17;
const INITIALIZE_ACCOUNT_3 = 18;

/** The amount of a token account; null after it was closed. */
type Amount = bigint | null;

export class TokenIndexer {
  readonly #byInstructions: UndoableMap<Amount>;
  readonly #byBalances: UndoableMap<Amount>;
  readonly #mints: UndoableMap<string>;
  /** By mint: the first known amounts of its accounts, plus the minted and minus the burnt amounts. */
  readonly #supplies: UndoableMap<bigint>;
  /** Lamports that were sent to accounts of the wrapped coin and are not yet part of their amount. */
  readonly #sent: UndoableMap<bigint>;
  /** The accounts that the current block changed. */
  readonly #touched = new Set<string>();
  #differences: string[] = [];

  constructor(undoLog: UndoLog) {
    this.#byInstructions = new UndoableMap(undoLog);
    this.#byBalances = new UndoableMap(undoLog);
    this.#mints = new UndoableMap(undoLog);
    this.#supplies = new UndoableMap(undoLog);
    this.#sent = new UndoableMap(undoLog);
  }

  /**
   * Indexes the next block. Returns a description of each value that contradicts an earlier block, and of each instruction that contradicts
   * the token balances of its transaction.
   */
  apply(transactions: readonly TransactionRecords[]): string[] {
    this.#touched.clear();
    this.#differences = [];
    for (const { transaction, held, calls } of transactions) {
      for (const row of held) this.#learn(row);
      if (transaction.err === null) for (const call of calls) this.#execute(call);
      for (const { account, postAmount } of held) this.#keep(this.#byBalances, account, postAmount);
    }
    return [...this.#differences, ...this.#compare(this.#touched)];
  }

  /** Returns all accounts whose amount by instructions differs from the amount by token balances. */
  listDifferences(): string[] {
    const accounts = [...this.#byBalances.entries(), ...this.#byInstructions.entries()];
    return this.#compare(new Set(accounts.map(([account]) => account)));
  }

  /** Returns all mints whose supply differs from the sum of their accounts. The wrapped coin has no supply. */
  listSupplyDifferences(): string[] {
    const sums = new Map<string, bigint>();
    for (const [mint] of this.#supplies.entries()) sums.set(mint, 0n);
    for (const [account, amount] of this.#byBalances.entries()) {
      const mint = this.#mints.get(account) ?? '';
      sums.set(mint, (sums.get(mint) ?? 0n) + (amount ?? 0n));
    }
    sums.delete(WRAPPED);
    return [...sums]
      .filter(([mint, sum]) => sum !== (this.#supplies.get(mint) ?? 0n))
      .map(([mint, sum]) => `${mint}: supply ${this.#supplies.get(mint)}, held ${sum}`);
  }

  #compare(accounts: Iterable<string>): string[] {
    const differences: string[] = [];
    for (const account of accounts) {
      const [one, other] = [this.#byBalances.get(account), this.#byInstructions.get(account)];
      // An account that is opened and closed by the same transaction has no token balance.
      if ((one ?? null) !== (other ?? null))
        differences.push(`${account}: ${one} by balances, ${other} by instructions`);
    }
    return differences;
  }

  /** Compares the state before a transaction with the one after the last, or learns it. */
  #learn({ account, preAmount, preMint, postMint }: TokenBalance): void {
    const last = this.#byBalances.get(account);
    const mint = preMint ?? postMint;
    if (last !== undefined && last !== preAmount) {
      this.#differences.push(
        `${account}: ${preAmount} before a transaction, ${last} after the last`,
      );
    }
    if (mint !== null && this.#mints.get(account) !== mint) this.#mints.set(account, mint);
    if (last !== undefined || preAmount === null) return;
    this.#keep(this.#byBalances, account, preAmount);
    this.#keep(this.#byInstructions, account, preAmount);
    if (mint !== null) this.#addSupply(mint, preAmount);
  }

  #keep(amounts: UndoableMap<Amount>, account: string, amount: Amount): void {
    amounts.set(account, amount);
    this.#touched.add(account);
  }

  #execute(call: Call): void {
    if (call.row.programId === SYSTEM) this.#executeSystem(call);
    else if (call.isToken) this.#executeToken(call);
  }

  #executeSystem({ data, row }: Call): void {
    const kind = data.readUInt32LE(0);
    const to = row.accounts[1] as string;
    if (kind === 0 || kind === 2) this.#send(to, data.readBigUInt64LE(4));
    else if (kind === 3) {
      const seedEnd = 44 + Number(data.readBigUInt64LE(36));
      this.#send(to, data.readBigUInt64LE(seedEnd));
    }
  }

  #executeToken({ data, row }: Call): void {
    const [first, second, third] = row.accounts as readonly string[] as [string, string, string];
    const amount = data.length >= 9 ? data.readBigUInt64LE(1) : 0n;
    switch (data[0]) {
      case INITIALIZE_ACCOUNT:
      case INITIALIZE_ACCOUNT_3: {
        // The amount of an account of the wrapped coin is its lamports beyond the rent.
        const sent = this.#takeSent(first);
        this.#keep(this.#byInstructions, first, second === WRAPPED ? sent - TOKEN_RENT : 0n);
        break;
      }
      case TRANSFER:
        this.#add(first, -amount);
        this.#add(second, amount);
        break;
      case TRANSFER_CHECKED:
        this.#add(first, -amount);
        this.#add(third, amount);
        break;
      case MINT_TO:
        this.#add(second, amount);
        this.#addSupply(first, amount);
        break;
      case BURN:
        this.#add(first, -amount);
        this.#addSupply(second, -amount);
        break;
      case CLOSE_ACCOUNT:
        this.#keep(this.#byInstructions, first, null);
        break;
      case SYNC_NATIVE:
        this.#add(first, this.#takeSent(first));
        break;
      default:
    }
  }

  #send(to: string, lamports: bigint): void {
    this.#sent.set(to, (this.#sent.get(to) ?? 0n) + lamports);
  }

  #takeSent(account: string): bigint {
    const sent = this.#sent.get(account) ?? 0n;
    this.#sent.set(account, 0n);
    return sent;
  }

  #add(account: string, change: bigint): void {
    const amount = (this.#byInstructions.get(account) ?? 0n) + change;
    this.#keep(this.#byInstructions, account, amount);
  }

  #addSupply(mint: string, change: bigint): void {
    this.#supplies.set(mint, (this.#supplies.get(mint) ?? 0n) + change);
  }
}
