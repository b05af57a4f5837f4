/** Example queries. Those with addresses use addresses that occur in the dataset. */
import type { Activity } from '@sluice/client';
import { shorten } from '../../base/format.ts';
import { addressName, mintSymbol, programName } from '../../ledger/address-names.ts';
import { describeDiscriminator } from '../../ledger/describe-instruction.ts';
import {
  queryAccount,
  queryInstruction,
  queryMint,
  queryProgram,
  queryTransactions,
} from './sample-queries.ts';

export interface Recipe {
  readonly title: string;
  readonly query: object;
}

/** The number of blocks below the head in a recipe, so that its results appear immediately. */
const recentCount = 200;
const busyProgramCount = 2;
const busyInstructionCount = 3;

export interface DatasetRange {
  readonly start: number;
  readonly head: number;
}

export function buildRecipes(
  { start, head }: DatasetRange,
  activity: Activity | undefined,
): readonly Recipe[] {
  const fromBlock = Math.max(start, head - recentCount);
  const range = { fromBlock, toBlock: head };
  const general: Recipe[] = [
    {
      title: 'Newest transactions, and follow',
      query: queryTransactions({ fromBlock: head }),
    },
    {
      title: 'Headers of recent blocks',
      query: {
        ...range,
        includeAllBlocks: true,
        fields: {
          block: {
            number: true,
            hash: true,
            parentSlot: true,
            height: true,
            timestamp: true,
            recordCounts: true,
          },
        },
      },
    },
    {
      title: 'Instructions that failed',
      query: {
        ...range,
        fields: {
          block: { number: true },
          transaction: { transactionIndex: true, signatures: true, err: true },
          instruction: {
            transactionIndex: true,
            instructionAddress: true,
            programId: true,
            error: true,
          },
        },
        instructions: [{ isCommitted: false, transaction: true }],
      },
    },
    {
      title: 'Rewards',
      query: {
        ...range,
        fields: {
          block: { number: true },
          reward: {
            pubKey: true,
            lamports: true,
            postBalance: true,
            rewardType: true,
            commission: true,
          },
        },
        rewards: [{}],
      },
    },
  ];
  return activity === undefined ? general : [...general, ...busyRecipes(activity, range)];
}

function busyRecipes(
  activity: Activity,
  range: { readonly fromBlock: number; readonly toBlock: number },
): Recipe[] {
  const programs = activity.programs.slice(0, busyProgramCount).map(({ programId }) => ({
    title: `Program ${programName(programId) ?? shorten(programId)}`,
    query: queryProgram(programId, range),
  }));
  const instructions = activity.discriminators
    .slice(0, busyInstructionCount)
    .map(({ programId, discriminator }) => ({
      title: `${programName(programId) ?? shorten(programId)}: ${describeDiscriminator(programId, discriminator) ?? discriminator}`,
      query: queryInstruction(programId, discriminator, range),
    }));
  const mints = activity.mints.slice(0, 1).map(({ mint }) => ({
    title: `Token balances of ${mintSymbol(mint) ?? shorten(mint)}`,
    query: queryMint(mint, range),
  }));
  const accounts = activity.accounts
    .filter(
      ({ account }) => programName(account) === undefined && mintSymbol(account) === undefined,
    )
    .slice(0, 1)
    .map(({ account }) => ({
      title: `A busy account, ${addressName(account) ?? shorten(account)}`,
      query: queryAccount(account, range),
    }));
  return [...programs, ...instructions, ...mints, ...accounts];
}
