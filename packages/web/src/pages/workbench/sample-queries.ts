/** Queries that other pages link to. They select the records from which the figures of those pages come. */
export interface SampleRange {
  readonly fromBlock: number;
  readonly toBlock?: number;
}

const header = { number: true, timestamp: true };
const transaction = { transactionIndex: true, signatures: true, feePayer: true, err: true };

export function queryTransactions(range: SampleRange): object {
  return {
    ...range,
    fields: { block: header, transaction: { ...transaction, fee: true } },
    transactions: [{}],
  };
}

export function queryProgram(programId: string, range: SampleRange): object {
  return queryInstructions({ programId: [programId] }, range);
}

/** The filters `d1` … `d8` match exactly. For other lengths there is a prefix filter. */
export function queryInstruction(
  programId: string,
  discriminator: string,
  range: SampleRange,
): object {
  const byteCount = (discriminator.length - 2) / 2;
  const filter = byteCount >= 1 && byteCount <= 8 ? `d${byteCount}` : 'discriminator';
  return queryInstructions({ programId: [programId], [filter]: [discriminator] }, range);
}

function queryInstructions(
  filters: Readonly<Record<string, readonly string[]>>,
  range: SampleRange,
): object {
  return {
    ...range,
    fields: {
      block: header,
      transaction,
      instruction: {
        transactionIndex: true,
        instructionAddress: true,
        accounts: true,
        data: true,
        error: true,
      },
    },
    instructions: [{ ...filters, transaction: true }],
  };
}

export function queryMint(mint: string, range: SampleRange): object {
  return {
    ...range,
    fields: {
      block: header,
      transaction,
      tokenBalance: {
        transactionIndex: true,
        account: true,
        postOwner: true,
        postDecimals: true,
        preAmount: true,
        postAmount: true,
      },
    },
    // An account that was opened has no mint before the transaction; one that was closed has none after it.
    tokenBalances: [
      { preMint: [mint], transaction: true },
      { postMint: [mint], transaction: true },
    ],
  };
}

export function queryAccount(address: string, range: SampleRange): object {
  return {
    ...range,
    fields: {
      block: header,
      transaction: { ...transaction, fee: true },
      balance: { transactionIndex: true, account: true, pre: true, post: true },
    },
    transactions: [{ mentionsAccount: [address] }],
    balances: [{ account: [address] }],
  };
}
