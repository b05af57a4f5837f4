/** Checks the laws of the simulated ledger on the records of its blocks, independently of the code that generates them. */
import type { Block } from '../../packages/ledger/src/block.ts';
import { EventChecker } from './check-events.ts';
import { TokenIndexer } from './token-indexer.ts';
import {
  splitBlock,
  TOKEN_RENT,
  TRANSFER,
  TRANSFER_CHECKED,
  type TransactionRecords,
  WRAPPED,
} from './transaction-records.ts';
import { UndoableMap, UndoLog } from './undo-log.ts';

const BROKEN_COUNT_MAX = 20;
/** A transaction names the hash of one of the last blocks before it, as on a real ledger. */
const RECENT_BLOCKS = 150;
/** All mints are summed up after every block whose slot is a multiple of this. */
const SUPPLY_SLOTS = 64;

/** Reads the blocks of one branch in order and lists violations of the laws. */
export class LawChecker {
  readonly #undoLog = new UndoLog();
  readonly tokens = new TokenIndexer(this.#undoLog);
  readonly events = new EventChecker(this.#undoLog, (place, text) => this.#break(place, text));
  readonly broken: string[] = [];
  /** The last known balance of every account. */
  readonly #lamports = new UndoableMap<bigint>(this.#undoLog);
  /** The number of every block on the branch, by its hash. */
  readonly #blockNumbers = new UndoableMap<number>(this.#undoLog);
  /** The address at every place of a lookup table that a transaction has loaded. */
  readonly #loaded = new Map<string, string>();
  readonly counts = { transactions: 0, failed: 0, checkedTransfers: 0, loaded: 0, wrapped: 0 };

  apply(block: Block): void {
    const slot = block.header.number;
    this.#undoLog.begin(slot);
    // Vote accounts are paid before the transactions, leaders and stakes after them.
    for (const reward of block.rewards) if (reward.rewardType === 'Voting') this.#pay(reward, slot);
    const transactions = splitBlock(block);
    for (const records of transactions) this.#checkTransaction(records);
    this.#checkRecent(block);
    for (const reward of block.rewards) if (reward.rewardType !== 'Voting') this.#pay(reward, slot);
    this.#checkLeader(block);
    for (const text of this.tokens.apply(transactions)) this.#break(slot, text);
    if (slot % SUPPLY_SLOTS === 0) this.checkSums(slot);
  }

  /** Compares all accounts, not only those of the last block. */
  checkSums(place: string | number): void {
    for (const text of this.tokens.listDifferences()) this.#break(place, text);
    for (const text of this.tokens.listSupplyDifferences()) this.#break(place, text);
  }

  rollBackTo(slot: number): void {
    this.#undoLog.rollBackTo(slot);
  }

  #pay({ pubKey, lamports, postBalance }: Block['rewards'][number], slot: number): void {
    const before = this.#lamports.get(pubKey);
    if (before !== undefined && before + lamports !== postBalance) {
      this.#break(slot, `reward of ${pubKey}: ${before} + ${lamports} is not ${postBalance}`);
    }
    this.#lamports.set(pubKey, postBalance);
  }

  /** The leader of a block gets half of its fees; the rest is burnt. */
  #checkLeader({ header, transactions, rewards }: Block): void {
    const fees = transactions.reduce((sum, { fee }) => sum + (fee ?? 0n), 0n);
    const paid = rewards.filter(({ rewardType }) => rewardType === 'Fee');
    if (paid.length !== 1 || paid[0]?.lamports !== fees / 2n)
      this.#break(header.number, `the leader got ${paid.map((row) => row.lamports)} of ${fees}`);
  }

  /** Every transaction names the hash of a block that came shortly before it on its branch. */
  #checkRecent({ header, transactions }: Block): void {
    const number = (this.#blockNumbers.get(header.parentHash ?? '') ?? -1) + 1;
    this.#blockNumbers.set(header.hash, number);
    for (const { recentBlockhash, transactionIndex } of transactions) {
      const age = number - (this.#blockNumbers.get(recentBlockhash) ?? -Infinity);
      // The hashes of the blocks before the first one are unknown.
      if (number > RECENT_BLOCKS && !(age >= 1 && age <= RECENT_BLOCKS))
        this.#break(`${header.number}/${transactionIndex}`, `${recentBlockhash} is not recent`);
    }
  }

  #checkTransaction(records: TransactionRecords): void {
    this.counts.transactions++;
    this.#checkLamports(records);
    this.#checkAddresses(records);
    this.#checkWritable(records);
    if (records.transaction.err !== null) {
      this.#checkFailed(records);
      return;
    }
    this.#checkMints(records);
    this.#checkWrapped(records);
    this.events.check(records);
  }

  #checkLamports({ place, balances, transaction }: TransactionRecords): void {
    let sum = 0n;
    for (const { account, pre, post } of balances) {
      sum += pre - post;
      const last = this.#lamports.get(account);
      if (last !== undefined && last !== pre)
        this.#break(place, `${account}: pre ${pre}, last ${last}`);
      this.#lamports.set(account, post);
    }
    if (sum !== transaction.fee)
      this.#break(place, `the lamports decreased by ${sum}, the fee is ${transaction.fee}`);
  }

  #checkFailed({ place, balances, held, transaction }: TransactionRecords): void {
    this.counts.failed++;
    if (balances.length !== 1 || balances[0]?.account !== transaction.accountKeys[0]) {
      this.#break(place, 'a failed transaction changed more than its fee');
    }
    for (const row of held) {
      if (row.preAmount !== row.postAmount)
        this.#break(place, `a failed transaction changed the tokens of ${row.account}`);
    }
  }

  /**
   * Every address that an instruction names, also one of a call, is a key of the transaction or loaded from a lookup table, once. Programs
   * of top-level instructions are keys. A place in a table has the same address in every transaction.
   */
  #checkAddresses({ place, transaction, calls }: TransactionRecords): void {
    const { accountKeys, loadedAddresses, addressTableLookups } = transaction;
    const keys = [...accountKeys, ...loadedAddresses.writable, ...loadedAddresses.readonly];
    const known = new Set<string>(keys);
    if (known.size !== keys.length) this.#break(place, 'an address is in the transaction twice');
    for (const { row, parentPath } of calls) {
      if (![...row.accounts, row.programId].every((key) => known.has(key))) {
        this.#break(place, 'an instruction names an address that is not in the transaction');
      }
      if (parentPath === '' && !accountKeys.includes(row.programId))
        this.#break(place, 'a top-level program is loaded from a table');
    }
    for (const [kind, indexes] of [
      ['writable', 'writableIndexes'],
      ['readonly', 'readonlyIndexes'],
    ] as const) {
      const addresses = loadedAddresses[kind];
      const places = addressTableLookups.flatMap((lookup) =>
        lookup[indexes].map((index) => `${lookup.accountKey}/${index}`),
      );
      if (places.length !== addresses.length)
        this.#break(
          place,
          `${addresses.length} ${kind} addresses are loaded from ${places.length} table entries`,
        );
      addresses.forEach((address, i) => {
        const at = places[i] ?? '';
        this.counts.loaded++;
        if ((this.#loaded.get(at) ?? address) !== address)
          this.#break(place, `${at} was ${this.#loaded.get(at)} and is ${address}`);
        this.#loaded.set(at, address);
      });
    }
  }

  /** A transaction changes only accounts that it names as writable. The first keys sign; the last keys of both groups are read-only. */
  #checkWritable({ place, transaction, balances, held }: TransactionRecords): void {
    const { accountKeys, loadedAddresses, numRequiredSignatures: signedEnd } = transaction;
    const signedWritableEnd = signedEnd - transaction.numReadonlySignedAccounts;
    const writableEnd = accountKeys.length - transaction.numReadonlyUnsignedAccounts;
    const own = [
      ...accountKeys.slice(0, signedWritableEnd),
      ...accountKeys.slice(signedEnd, writableEnd),
    ];
    const writable = new Set<string>([...own, ...loadedAddresses.writable]);
    const changed = held.filter(({ preAmount, postAmount }) => preAmount !== postAmount);
    for (const { account } of [...balances, ...changed]) {
      if (!writable.has(account)) this.#break(place, `${account} changed, but is not writable`);
    }
  }

  /** Both accounts of a transfer must hold the same mint. A checked transfer must name it and its decimals. Accounts without tokens have no row. */
  #checkMints({ place, calls, held }: TransactionRecords): void {
    const mints = new Map(
      held.map((row) => {
        const mint = row.postMint ?? row.preMint;
        return [row.account, `${mint} with ${row.postDecimals ?? row.preDecimals} decimals`];
      }),
    );
    for (const { isToken, data, row } of calls) {
      const kind = isToken ? data[0] : undefined;
      if (kind !== TRANSFER && kind !== TRANSFER_CHECKED) continue;
      const isChecked = kind === TRANSFER_CHECKED;
      const [from, second, third] = row.accounts;
      const ends = [from, isChecked ? third : second];
      const found = ends.flatMap((account) => (account && mints.get(account)) ?? []);
      const named = isChecked ? [`${second} with ${data[9]} decimals`] : [];
      if (isChecked && found.length > 0) this.counts.checkedTransfers++;
      if (new Set([...named, ...found]).size > 1)
        this.#break(place, `a transfer of ${named}, its accounts hold ${found}`);
    }
  }

  /** The amount of an account of the wrapped coin is its lamports beyond the rent. */
  #checkWrapped({ place, held }: TransactionRecords): void {
    for (const { account, postMint, postAmount } of held) {
      const lamports = this.#lamports.get(account);
      if (postMint !== WRAPPED || postAmount === null || lamports === undefined) continue;
      this.counts.wrapped++;
      if (lamports !== postAmount + TOKEN_RENT)
        this.#break(place, `${account} has ${postAmount} wrapped coins and ${lamports} lamports`);
    }
  }

  #break(place: string | number, text: string): void {
    if (this.broken.length < BROKEN_COUNT_MAX) this.broken.push(`${place}: ${text}`);
  }
}
