/** Checks the laws of the simulated ledger on the records of its blocks, independently of the code that generates them. */
import type { Balance, Block, TokenBalance } from '../../packages/server/src/ledger/block.ts';
import { dataOf, groupByTransaction, TokenIndexer, WRAPPED } from './token-indexer.ts';

const AMM = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const SWAP_EVENT = 'QMbN6CYIceI=';
/** The first byte of the data of the token programs' instructions. */
const TRANSFER = 3;
const TRANSFER_CHECKED = 12;
const EVENT_CALL = 'e445a52e51cb9a1d';
/** The events of the order book and of the launchpad, which are calls of the program to itself: the positions of their token amounts. */
const AMOUNTS_OF_EVENTS: ReadonlyMap<string, readonly number[]> = new Map([
  ['0d5929e469b22d70', [80, 88]],
  ['bddb7fd34ee661ee', [120]],
]);

/** Reads the blocks of one branch in order and lists violations of the laws. */
export class LawChecker {
  readonly tokens = new TokenIndexer();
  readonly broken: string[] = [];
  /** The last known balance of every account. */
  readonly #lamports = new Map<string, bigint>();
  readonly #undo: { slot: number; lamports: Map<string, bigint | undefined> }[] = [];
  swapCount = 0;
  tradeCount = 0;
  checkedTransferCount = 0;
  transactionCount = 0;
  failedCount = 0;

  apply(block: Block): void {
    const { number } = block.header;
    const replaced = new Map<string, bigint | undefined>();
    this.#undo.push({ slot: number, lamports: replaced });
    const see = (account: string, lamports: bigint): void => {
      if (!replaced.has(account)) replaced.set(account, this.#lamports.get(account));
      this.#lamports.set(account, lamports);
    };
    // Vote accounts are paid before the transactions, leaders and stakes after them.
    for (const reward of block.rewards) {
      if (reward.rewardType === 'Voting') this.#pay(reward, number, see);
    }
    this.#checkTransactions(block, see);
    for (const reward of block.rewards) {
      if (reward.rewardType !== 'Voting') this.#pay(reward, number, see);
    }
    this.tokens.apply(block);
    for (const text of this.tokens.listNewDifferences()) this.#break(number, text);
    for (const text of this.tokens.jumps) this.#break(number, text);
  }

  rollBackTo(slot: number): void {
    while ((this.#undo.at(-1)?.slot ?? -1) > slot) {
      const { lamports } = this.#undo.pop() as { lamports: Map<string, bigint | undefined> };
      for (const [account, before] of lamports) {
        if (before === undefined) this.#lamports.delete(account);
        else this.#lamports.set(account, before);
      }
    }
    this.tokens.rollBackTo(slot);
  }

  #pay(
    reward: Block['rewards'][number],
    slot: number,
    see: (account: string, lamports: bigint) => void,
  ): void {
    const before = this.#lamports.get(reward.pubKey);
    if (before !== undefined && before + reward.lamports !== reward.postBalance) {
      this.#break(slot, `reward of ${reward.pubKey}: ${before} + ${reward.lamports}`);
    }
    see(reward.pubKey, reward.postBalance);
  }

  #checkTransactions(block: Block, see: (account: string, lamports: bigint) => void): void {
    const slot = block.header.number;
    const balances = groupByTransaction(block.balances);
    const holdings = groupByTransaction(block.tokenBalances);
    const instructions = groupByTransaction(block.instructions);
    const logs = groupByTransaction(block.logs);
    for (const transaction of block.transactions) {
      const { transactionIndex: index, fee, err } = transaction;
      this.transactionCount++;
      const place = `${slot}/${index}`;
      const changes = balances.get(index) ?? [];
      this.#checkLamports(place, changes, fee as bigint, see);
      const held = holdings.get(index) ?? [];
      if (err !== null)
        this.#checkFailed(place, changes, held, transaction.accountKeys[0] as string);
      const { writable, readonly } = transaction.loadedAddresses;
      const keys = new Set<string>([...transaction.accountKeys, ...writable, ...readonly]);
      for (const { accounts, programId } of instructions.get(index) ?? []) {
        if (![...accounts, programId].every((key) => keys.has(key))) {
          this.#break(place, 'an instruction names an address that is not in the transaction');
        }
      }
      if (err === null) {
        const events = (logs.get(index) ?? []).filter(
          (row) => row.kind === 'data' && row.programId === AMM,
        );
        this.#checkSwaps(place, instructions.get(index) ?? [], events);
        this.#checkTrades(place, instructions.get(index) ?? []);
        this.#checkSupply(place, instructions.get(index) ?? [], held);
        this.#checkMints(place, instructions.get(index) ?? [], held);
      }
    }
  }

  #checkLamports(
    place: string,
    changes: readonly Balance[],
    fee: bigint,
    see: (account: string, lamports: bigint) => void,
  ): void {
    let sum = 0n;
    for (const { account, pre, post } of changes) {
      sum += pre - post;
      const last = this.#lamports.get(account);
      if (last !== undefined && last !== pre)
        this.#break(place, `${account}: pre ${pre}, last ${last}`);
      see(account, post);
    }
    if (sum !== fee) this.#break(place, `the lamports decreased by ${sum}, the fee is ${fee}`);
  }

  #checkFailed(
    place: string,
    changes: readonly Balance[],
    held: readonly TokenBalance[],
    payer: string,
  ): void {
    this.failedCount++;
    if (changes.length !== 1 || changes[0]?.account !== payer) {
      this.#break(place, 'a failed transaction changed more than its fee');
    }
    for (const row of held) {
      if (row.preAmount !== row.postAmount)
        this.#break(place, `a failed transaction changed the tokens of ${row.account}`);
    }
  }

  /** The amounts in the event of every swap must equal those of its transfers. */
  #checkSwaps(place: string, instructions: Block['instructions'], events: Block['logs']): void {
    for (const event of events) {
      const bytes = Buffer.from(event.message, 'base64');
      if (bytes.subarray(0, 8).toString('base64') !== SWAP_EVENT) continue;
      this.swapCount++;
      const address = event.instructionAddress;
      const amounts = instructions
        .filter((row) => {
          const parent = row.instructionAddress.slice(0, -1);
          return parent.length === address.length && parent.every((at, i) => at === address[i]);
        })
        .map((row) => dataOf(row).readBigUInt64LE(1));
      const said = [bytes.readBigUInt64LE(72), bytes.readBigUInt64LE(80)];
      if (amounts.join() !== said.join()) this.#break(place, `swap of ${said}, moved ${amounts}`);
    }
  }

  /** The token amounts in the event of every trade must equal those of the transfers of its instruction. */
  #checkTrades(place: string, instructions: Block['instructions']): void {
    for (const event of instructions) {
      const data = dataOf(event);
      if (data.subarray(0, 8).toString('hex') !== EVENT_CALL) continue;
      const positions = AMOUNTS_OF_EVENTS.get(data.subarray(8, 16).toString('hex'));
      if (positions === undefined) continue;
      this.tradeCount++;
      const parent = event.instructionAddress.slice(0, -1).join();
      const moved = instructions
        .filter(({ programId }) => programId.startsWith('Token'))
        .filter((row) => row.instructionAddress.slice(0, -1).join() === parent)
        .map((row) => dataOf(row).readBigUInt64LE(1));
      const said = positions.map((at) => data.readBigUInt64LE(at));
      if (moved.sort().join() !== said.sort().join()) {
        this.#break(place, `trade of ${said}, moved ${moved}`);
      }
    }
  }

  /** The sum of the changes of a mint's accounts must equal the minted minus the burnt amount. */
  #checkSupply(
    place: string,
    instructions: Block['instructions'],
    held: readonly TokenBalance[],
  ): void {
    const changes = new Map<string, bigint>();
    const add = (mint: string, change: bigint): void => {
      changes.set(mint, (changes.get(mint) ?? 0n) + change);
    };
    for (const row of held) {
      const mint = (row.preMint ?? row.postMint) as string;
      if (mint !== WRAPPED) add(mint, (row.postAmount ?? 0n) - (row.preAmount ?? 0n));
    }
    for (const row of instructions) {
      if (!row.programId.startsWith('Token')) continue;
      const data = dataOf(row);
      if (data[0] === 7) add(row.accounts[0] as string, -data.readBigUInt64LE(1));
      if (data[0] === 8) add(row.accounts[1] as string, data.readBigUInt64LE(1));
    }
    for (const [mint, change] of changes) {
      if (change !== 0n) this.#break(place, `the supply of ${mint} is off by ${change}`);
    }
  }

  /** Both accounts of a transfer must hold the same mint, and a checked transfer must name it. Accounts without tokens have no row. */
  #checkMints(
    place: string,
    instructions: Block['instructions'],
    held: readonly TokenBalance[],
  ): void {
    const mints = new Map(held.map((row) => [row.account, row.postMint ?? row.preMint]));
    for (const { programId, accounts, ...row } of instructions) {
      const kind = programId.startsWith('Token') ? dataOf(row)[0] : undefined;
      if (kind !== TRANSFER && kind !== TRANSFER_CHECKED) continue;
      const isChecked = kind === TRANSFER_CHECKED;
      const ends = [accounts[0], accounts[isChecked ? 2 : 1]];
      const found = ends.flatMap((account) => (account && mints.get(account)) ?? []);
      const named = isChecked ? [accounts[1]] : [];
      if (isChecked && found.length > 0) this.checkedTransferCount++;
      if (new Set<unknown>([...named, ...found]).size > 1)
        this.#break(place, `a transfer of ${named}, its accounts hold ${found}`);
    }
  }

  #break(place: string | number, text: string): void {
    if (this.broken.length < 20) this.broken.push(`${place}: ${text}`);
  }
}
