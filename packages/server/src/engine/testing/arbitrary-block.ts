/** Random blocks that satisfy the invariants and the order of `ledger/block.ts`. */

import type {
  Balance,
  Block,
  Instruction,
  Log,
  Reward,
  StoredRecord,
  StoredValues,
  TokenBalance,
} from '@sluice/ledger/block';
import type { Address, BlockHash, Slot } from '@sluice/ledger/primitives';
import type { RecordKind } from '@sluice/protocol/field-table';
import fc, { type Arbitrary } from 'fast-check';
import { mapStored } from '../../../../ledger/src/testing/stored-fields.ts';
import {
  arbitraryAddress,
  arbitraryData,
  arbitraryHash,
  arbitraryI64,
  arbitrarySignature,
  arbitraryText,
  arbitraryU64,
  orNull,
} from './arbitrary-values.ts';

/** The deepest call tree that the ledger will allow. */
const depthMax = 9;

const u8 = fc.integer({ min: 0, max: 255 });

const arbitraryAccounts: Arbitrary<Address[]> = fc.oneof(
  { weight: 8, arbitrary: fc.array(arbitraryAddress, { maxLength: 5 }) },
  { weight: 2, arbitrary: fc.array(arbitraryAddress, { minLength: 14, maxLength: 18 }) },
  { weight: 1, arbitrary: fc.array(arbitraryAddress, { minLength: 60, maxLength: 70 }) },
);

/** The result of a transaction. Unknown if the ledger did not record it. */
interface Outcome {
  readonly err: string | null;
  readonly isCommitted: boolean | null;
  readonly fee: bigint | null;
}

const arbitraryErr: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '{"InstructionError":[0,{"Custom":6001}]}',
    '{"InstructionError":[255,"InvalidArgument"]}',
    '{"AccountNotFound":null}',
    '{"InsufficientFundsForRent":{"account_index":3}}',
    '{"Odd":18446744073709551615}',
    '{}',
  ),
  arbitraryText.map((text) => JSON.stringify({ [`k${text}`]: [text, null, 1.5] })),
);

const arbitraryOutcome: Arbitrary<Outcome> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      err: fc.constant(null),
      isCommitted: fc.constant(true),
      fee: arbitraryU64,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ err: arbitraryErr, isCommitted: fc.constant(false), fee: arbitraryU64 }),
  },
  { weight: 1, arbitrary: fc.constant({ err: null, isCommitted: null, fee: null }) },
);

/** Returns the addresses of a call tree in execution order, from the changes of depth between calls. */
export function buildAddresses(steps: readonly number[]): readonly (readonly number[])[] {
  const addresses: (readonly number[])[] = [];
  let previous: readonly number[] = [];
  for (const step of steps) {
    const depth = (step % Math.min(previous.length + 1, depthMax)) + 1;
    const last = previous[depth - 1];
    previous = [...previous.slice(0, depth - 1), last === undefined ? 0 : last + 1];
    addresses.push(previous);
  }
  return addresses;
}

const arbitrarySteps: Arbitrary<readonly number[]> = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.nat(), { maxLength: 7 }) },
  // Each step goes as deep as possible: a chain of calls down to the deepest level, then some more.
  {
    weight: 1,
    arbitrary: fc
      .array(fc.nat(), { maxLength: 4 })
      .map((more) => [...Array.from({ length: depthMax }, (_, depth) => depth), ...more]),
  },
);

/** Any value of each type. Fields whose values depend on each other are replaced afterwards. */
const arbitraryStored: { readonly [Wire in keyof StoredValues]: Arbitrary<StoredValues[Wire]> } = {
  integer: u8,
  quantity: arbitraryU64,
  version: fc.constantFrom(-1, 0, 1, 7),
  boolean: fc.boolean(),
  text: arbitraryText,
  address: arbitraryAddress,
  hash: arbitraryHash,
  base58: arbitraryData,
  logKind: fc.constantFrom('log', 'data', 'other'),
  addresses: arbitraryAccounts,
  signatures: fc.array(arbitrarySignature, { minLength: 1, maxLength: 2 }),
  path: fc.constant([0]),
  errorObject: arbitraryErr,
  addressTableLookups: fc.array(
    fc.record({
      accountKey: arbitraryAddress,
      readonlyIndexes: fc.array(u8, { maxLength: 3 }),
      writableIndexes: fc.array(u8, { maxLength: 3 }),
    }),
    { maxLength: 2 },
  ),
  loadedAddresses: fc.record({
    readonly: fc.array(arbitraryAddress, { maxLength: 3 }),
    writable: fc.array(arbitraryAddress, { maxLength: 3 }),
  }),
};

/** A record with any value in every stored field, and the given ones in some. */
function arbitraryRecord<K extends RecordKind>(
  kind: K,
  replaced: { readonly [Name in keyof StoredRecord<K>]?: Arbitrary<StoredRecord<K>[Name]> } = {},
): Arbitrary<StoredRecord<K>> {
  const fields = mapStored(kind, ({ wire, nullable }) => {
    const arbitrary: Arbitrary<unknown> = arbitraryStored[wire];
    return nullable ? orNull(arbitrary) : arbitrary;
  });
  return fc.record({ ...fields, ...replaced }) as Arbitrary<StoredRecord<K>>;
}

const arbitraryLogBody = fc.record({
  owner: fc.nat(),
  gap: fc.integer({ min: 1, max: 3 }),
  log: arbitraryRecord('log'),
});

const arbitraryTokenSide = fc.record({
  mint: arbitraryAddress,
  decimals: u8,
  programId: orNull(arbitraryAddress),
  owner: orNull(arbitraryAddress),
  amount: arbitraryU64,
});

const arbitraryTokenBody = fc.record({
  balance: arbitraryRecord('tokenBalance'),
  sides: fc.oneof(
    { weight: 3, arbitrary: fc.tuple(arbitraryTokenSide, arbitraryTokenSide) },
    { weight: 1, arbitrary: fc.tuple(arbitraryTokenSide, fc.constant(null)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant(null), arbitraryTokenSide) },
  ),
});

const arbitraryBalanceBody = arbitraryRecord('balance').filter(({ pre, post }) => pre !== post);

const arbitraryTransactionBody = arbitraryRecord('transaction', {
  accountKeys: fc.array(arbitraryAddress, { minLength: 1, maxLength: 6 }),
});

/** The part of a block that belongs to one transaction. */
type Part = Omit<Block, 'header' | 'rewards'>;

const arbitraryPart = fc.record({
  outcome: arbitraryOutcome,
  body: arbitraryTransactionBody,
  addresses: arbitrarySteps.map(buildAddresses),
  instructionBodies: fc.array(arbitraryRecord('instruction'), { minLength: 1, maxLength: 5 }),
  logBodies: fc.array(arbitraryLogBody, { maxLength: 5 }),
  balanceBodies: fc.uniqueArray(arbitraryBalanceBody, { selector: accountOf, maxLength: 4 }),
  tokenBodies: fc.uniqueArray(arbitraryTokenBody, {
    selector: ({ balance }) => balance.account,
    maxLength: 4,
  }),
});

type PartSeed = typeof arbitraryPart extends Arbitrary<infer Seed> ? Seed : never;

function accountOf({ account }: { readonly account: Address }): Address {
  return account;
}

function buildPart(transactionIndex: number, seed: PartSeed): Part {
  const { outcome, body, addresses, instructionBodies } = seed;
  const { isCommitted, err, fee } = outcome;
  const instructions = addresses.map((instructionAddress, at) => ({
    ...(instructionBodies[at % instructionBodies.length] as Instruction),
    transactionIndex,
    instructionAddress,
    isCommitted,
  }));
  return {
    transactions: [{ ...body, transactionIndex, err, fee }],
    instructions,
    logs: buildLogs(transactionIndex, seed, instructions),
    balances: seed.balanceBodies
      .map((balance): Balance => ({ ...balance, transactionIndex }))
      .sort(byAccount),
    tokenBalances: seed.tokenBodies
      .map((token) => buildTokenBalance(transactionIndex, token))
      .sort(byAccount),
  };
}

function buildLogs(
  transactionIndex: number,
  { logBodies }: PartSeed,
  instructions: readonly Instruction[],
): readonly Log[] {
  if (instructions.length === 0) return [];
  let logIndex = -1;
  return logBodies.map(({ owner, gap, log }) => {
    logIndex += gap;
    const writer = instructions[owner % instructions.length] as Instruction;
    const { instructionAddress, programId } = writer;
    return { ...log, transactionIndex, logIndex, instructionAddress, programId };
  });
}

function buildTokenBalance(
  transactionIndex: number,
  { balance, sides: [pre, post] }: PartSeed['tokenBodies'][number],
): TokenBalance {
  return {
    ...balance,
    transactionIndex,
    preMint: pre?.mint ?? null,
    postMint: post?.mint ?? null,
    preDecimals: pre?.decimals ?? null,
    postDecimals: post?.decimals ?? null,
    preProgramId: pre?.programId ?? null,
    postProgramId: post?.programId ?? null,
    preOwner: pre?.owner ?? null,
    postOwner: post?.owner ?? null,
    preAmount: pre?.amount ?? null,
    postAmount: post?.amount ?? null,
  };
}

function byAccount(a: { readonly account: Address }, b: { readonly account: Address }): number {
  return compare(a.account, b.account);
}

function compare<Value extends string | bigint>(a: Value, b: Value): number {
  return a < b ? -1 : Number(a > b);
}

const arbitraryReward = arbitraryRecord('reward', {
  lamports: arbitraryI64,
  rewardType: fc.constantFrom(null, 'Fee', 'Rent', 'Staking', 'Voting', 'Odd "type"\n'),
});

function compareRewards(a: Reward, b: Reward): number {
  return (
    compare(a.pubKey, b.pubKey) ||
    // Null comes before every text, including the empty one.
    Number(a.rewardType !== null) - Number(b.rewardType !== null) ||
    compare(a.rewardType ?? '', b.rewardType ?? '') ||
    compare(a.lamports, b.lamports) ||
    compare(a.postBalance, b.postBalance)
  );
}

const arbitraryBlockSeed = fc.record({
  slotGap: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 2_000 })),
  hash: arbitraryHash,
  isParentHashKnown: fc.boolean(),
  height: orNull(fc.oneof(fc.nat(), fc.constant(2 ** 53 - 1))),
  timestamp: orNull(arbitraryI64),
  parts: fc.array(
    fc.tuple(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 900 })), arbitraryPart),
    { maxLength: 4 },
  ),
  rewards: fc.array(arbitraryReward, { maxLength: 3 }),
});

type BlockSeed = typeof arbitraryBlockSeed extends Arbitrary<infer Seed> ? Seed : never;

interface Parent {
  readonly number: number;
  readonly hash: BlockHash;
}

function buildBlock(number: number, parent: Parent, seed: BlockSeed): Block {
  let transactionIndex = -1;
  const parts = seed.parts.map(([gap, part]) => {
    transactionIndex += gap;
    return buildPart(transactionIndex, part);
  });
  return {
    header: {
      number: number as Slot,
      hash: seed.hash,
      parentSlot: parent.number as Slot,
      parentHash: seed.isParentHashKnown && number > 0 ? parent.hash : null,
      height: seed.height,
      timestamp: seed.timestamp,
    },
    transactions: parts.flatMap((part) => part.transactions),
    instructions: parts.flatMap((part) => part.instructions),
    logs: parts.flatMap((part) => part.logs),
    balances: parts.flatMap((part) => part.balances),
    tokenBalances: parts.flatMap((part) => part.tokenBalances),
    rewards: [...seed.rewards].sort(compareRewards),
  };
}

/** The first slot leaves space for a run of slots below 2^53. */
const arbitraryFirstSlot = fc.oneof(
  fc.constantFrom(0, 1, 250_000_000, 2 ** 32 - 2, 2 ** 53 - 100_000),
  fc.nat(),
);

/** A linked run of blocks, possibly empty. Slots ascend with gaps. */
export function arbitraryBlocks(
  options: { readonly minLength?: number; readonly maxLength?: number } = {},
): Arbitrary<readonly Block[]> {
  const { minLength = 0, maxLength = 5 } = options;
  return fc
    .tuple(
      arbitraryFirstSlot,
      arbitraryHash,
      fc.array(arbitraryBlockSeed, { minLength, maxLength }),
    )
    .map(([firstSlot, parentHash, seeds]) => {
      let parent: Parent = { number: Math.max(0, firstSlot - 1), hash: parentHash };
      let number = firstSlot;
      return seeds.map((seed) => {
        const block = buildBlock(number, parent, seed);
        parent = { number, hash: seed.hash };
        number += seed.slotGap;
        return block;
      });
    });
}

export const arbitraryBlock: Arbitrary<Block> = arbitraryBlocks({
  minLength: 1,
  maxLength: 1,
}).map(([block]) => block as Block);
