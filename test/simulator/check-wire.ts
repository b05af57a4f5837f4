/** Checks the laws on the responses of a node. They list the balances of all accounts of a transaction, even of those that it does not change. */
interface WireInstruction {
  readonly accounts: readonly number[];
  readonly programIdIndex: number;
}
interface WireHolding {
  readonly accountIndex: number;
  readonly uiTokenAmount: { readonly amount: string };
}
interface WireTransaction {
  readonly meta: {
    readonly preBalances: readonly number[];
    readonly postBalances: readonly number[];
    readonly preTokenBalances: readonly WireHolding[];
    readonly postTokenBalances: readonly WireHolding[];
    readonly innerInstructions: readonly { readonly instructions: readonly WireInstruction[] }[];
    readonly loadedAddresses?: {
      readonly writable: readonly string[];
      readonly readonly: readonly string[];
    };
  };
  readonly transaction: {
    readonly message: {
      readonly accountKeys: readonly string[];
      readonly instructions: readonly WireInstruction[];
    };
  };
}
interface WireBlock {
  readonly transactions: readonly WireTransaction[];
  readonly rewards: readonly {
    readonly pubkey: string;
    readonly postBalance: number;
    readonly rewardType: string;
  }[];
}

/** Reads the bytes of blocks in order and lists violations. `JSON.parse` rounds integers above 2^53, but equal ones stay equal. */
export class WireChecker {
  readonly broken: string[] = [];
  /** The number of unchanged balances, over all transactions. */
  keptCount = 0;
  readonly #lamports = new Map<string, number>();
  readonly #amounts = new Map<string, string>();

  apply(json: Uint8Array): void {
    const { transactions, rewards } = JSON.parse(Buffer.from(json).toString()) as WireBlock;
    const pay = (isBefore: boolean): void => {
      for (const { pubkey, postBalance, rewardType } of rewards) {
        if ((rewardType === 'Voting') === isBefore) this.#lamports.set(pubkey, postBalance);
      }
    };
    pay(true);
    for (const transaction of transactions) this.#check(transaction);
    pay(false);
  }

  #check({ meta, transaction: { message } }: WireTransaction): void {
    const { writable, readonly } = meta.loadedAddresses ?? { writable: [], readonly: [] };
    const keys = [...message.accountKeys, ...writable, ...readonly];
    const { preBalances, postBalances } = meta;
    if (preBalances.length !== keys.length || postBalances.length !== keys.length)
      this.broken.push(`${keys.length} keys have ${preBalances.length} balances`);
    keys.forEach((key, i) => {
      const last = this.#lamports.get(key);
      if (last !== undefined && last !== preBalances[i])
        this.broken.push(`${key} had ${last} lamports and has ${preBalances[i]}`);
      if (last !== undefined && last === postBalances[i]) this.keptCount++;
      this.#lamports.set(key, postBalances[i] as number);
    });
    for (const { accountIndex, uiTokenAmount } of meta.preTokenBalances) {
      const key = keys[accountIndex] ?? 'no key';
      const last = this.#amounts.get(key) ?? uiTokenAmount.amount;
      if (last !== uiTokenAmount.amount)
        this.broken.push(`${key} had ${last} tokens and has ${uiTokenAmount.amount}`);
    }
    for (const { accountIndex, uiTokenAmount } of meta.postTokenBalances) {
      this.#amounts.set(keys[accountIndex] ?? 'no key', uiTokenAmount.amount);
    }
    const inner = meta.innerInstructions.flatMap(({ instructions }) => instructions);
    for (const { accounts, programIdIndex } of [...message.instructions, ...inner]) {
      const isNamed = [...accounts, programIdIndex].every((index) => index < keys.length);
      if (!isNamed) this.broken.push('an instruction names an address outside the transaction');
    }
  }
}
