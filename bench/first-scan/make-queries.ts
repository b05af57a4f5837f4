/**
 * The ten queries, similar to those of typical users. They use programs of the public ledger if the corpus has them, otherwise programs of
 * the corpus that are about as frequent.
 */
import type { RawBlocks } from './raw-blocks.ts';
import { type Call, SampleCounts } from './sample-counts.ts';
import * as known from './well-known.ts';

export interface ScanQuery {
  readonly name: string;
  readonly text: string;
  /** The body of the request, without a range. */
  readonly body: object;
  readonly isOfAllBlocks: boolean;
}

const block = { number: true, hash: true, parentNumber: true, timestamp: true };
const transaction = {
  ...{ transactionIndex: true, signatures: true, err: true },
  ...{ fee: true, feePayer: true, accountKeys: true },
};
const instruction = {
  ...{ transactionIndex: true, instructionAddress: true, programId: true, accounts: true },
  ...{ data: true, isCommitted: true, error: true },
};
const tokenBalance = {
  ...{ transactionIndex: true, account: true, preMint: true, postMint: true },
  ...{ preOwner: true, postOwner: true, preAmount: true, postAmount: true },
  ...{ preDecimals: true, postDecimals: true },
};
const log = {
  ...{ transactionIndex: true, logIndex: true, instructionAddress: true },
  ...{ programId: true, kind: true, message: true },
};
const balance = { transactionIndex: true, account: true, pre: true, post: true };
const base = { block, transaction, instruction };
const pull = { transaction: true, innerInstructions: true };
const withTokens = { ...pull, transactionTokenBalances: true };
const everythingOfTransaction = {
  ...withTokens,
  transactionBalances: true,
  transactionInstructions: true,
  logs: true,
};

/** The share of transactions that the first query should match if its well-known program is absent. */
const swapShare = 0.01;

export function makeQueries({
  sample,
  hasRareAccount,
}: Pick<RawBlocks, 'sample' | 'hasRareAccount'>): readonly ScanQuery[] {
  const counts = new SampleCounts(sample);
  const swap: Call = [known.WHIRLPOOL, known.swap];
  const [programId, d8] = counts.has('d8', swap)
    ? swap
    : (counts.callNear('d8', swapShare) ?? swap);
  const first = { programId: [programId], d8: [d8], isCommitted: true };
  const rare = hasRareAccount ? known.rareAccount : counts.rarestAccount();
  const owner = counts.hasPostOwner(known.tokenOwner) ? known.tokenOwner : counts.topPostOwner();
  const everything = { instructions: true, logs: true, balances: true, tokenBalances: true };
  const all = { ...base, tokenBalance, log };
  const bodies: (readonly [text: string, body: object])[] = [
    [
      'program + d8 → transaction, inner instructions',
      { fields: base, instructions: [{ ...first, ...pull }] },
    ],
    [
      'the same + token balances',
      { fields: { ...base, tokenBalance }, instructions: [{ ...first, ...withTokens }] },
    ],
    ['the same + logs', { fields: all, instructions: [{ ...first, ...withTokens, logs: true }] }],
    [
      'program + d1 + account → everything of the transaction',
      { fields: { ...all, balance }, instructions: [placeItem(counts)] },
    ],
    ['three groups', { fields: all, ...threeGroups(counts) }],
    ['twelve groups', { fields: all, instructions: twelveGroups(counts) }],
    ['headers of all blocks', { fields: { block }, includeAllBlocks: true }],
    [
      'token balances by owner',
      {
        fields: { block, tokenBalance, transaction },
        tokenBalances: [{ postOwner: [owner], transaction: true }],
      },
    ],
    [
      'a rare account',
      { fields: base, instructions: [{ mentionsAccount: [rare], transaction: true }] },
    ],
    ['everything', { fields: { ...all, balance }, transactions: [everything] }],
  ];
  return bodies.map(([text, body], at) => ({
    name: `Q${at + 1}`,
    text,
    body,
    isOfAllBlocks: 'includeAllBlocks' in body,
  }));
}

/** Returns an item with filters by program, by the first byte of the data, and by the account at position 1. */
function placeItem(counts: SampleCounts): object {
  const position = [known.TOKEN, '0x01', known.WRAPPED_COIN];
  const [programId, d1, a1] = counts.hasPosition(...position) ? position : counts.topPosition();
  return { programId: [programId], d1: [d1], a1: [a1], ...everythingOfTransaction };
}

function threeGroups(counts: SampleCounts): object {
  const chooser = new CallChooser(counts);
  const [router, d8] = chooser.choose('d8', [known.JUPITER, known.route]);
  const [pool, d1] = chooser.choose('d1', [known.RAYDIUM, '0x09']);
  const mint = counts.hasMint(known.WRAPPED_COIN) ? known.WRAPPED_COIN : counts.topMint();
  const owner = counts.hasPreOwner(known.poolOwner) ? known.poolOwner : counts.topPreOwner();
  return {
    instructions: [
      { programId: [router], d8: [d8], ...withTokens },
      { programId: [pool], d1: [d1], ...pull, logs: true },
    ],
    tokenBalances: [{ postMint: [mint], preOwner: [owner], transaction: true }],
  };
}

function twelveGroups(counts: SampleCounts): object[] {
  const chooser = new CallChooser(counts);
  const longStarts: readonly Call[] = [
    [known.WHIRLPOOL, known.swap],
    [known.RAYDIUM_CLMM, known.swap],
    [known.METEORA, known.swap],
    [known.JUPITER, known.route],
    [known.JUPITER, known.event],
    [known.METEORA, known.event],
    [known.ZETA, known.placeOrder],
  ];
  const shortStarts: readonly Call[] = [
    [known.RAYDIUM, '0x09'],
    [known.PHOENIX, '0x00'],
    [known.PHOENIX, '0x07'],
    [known.TOKEN, '0x07'],
    [known.TOKEN, '0x08'],
  ];
  const longItems = longStarts.map((wanted) => {
    const [programId, d8] = chooser.choose('d8', wanted);
    return { programId: [programId], d8: [d8], ...withTokens };
  });
  const shortItems = shortStarts.map((wanted) => {
    const [programId, d1] = chooser.choose('d1', wanted);
    return { programId: [programId], d1: [d1], transaction: true, logs: true };
  });
  return [...longItems, ...shortItems];
}

/** Replaces calls that the corpus lacks by its most frequent ones, each once. */
class CallChooser {
  readonly #counts: SampleCounts;
  readonly #used = new Set<string>();

  constructor(counts: SampleCounts) {
    this.#counts = counts;
  }

  choose(name: 'd1' | 'd8', wanted: Call): Call {
    const others = this.#counts.calls(name).filter((call) => !this.#used.has(call.join(' ')));
    const call = this.#counts.has(name, wanted) ? wanted : (others[0] ?? wanted);
    this.#used.add(call.join(' '));
    return call;
  }
}
