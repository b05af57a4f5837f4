/** The expected results of lookups, computed from all decoded records of a dataset without an index. */

import { decodeBase58 } from '@sluice/base/base58';
import type { Block, Transaction } from '@sluice/ledger/block';
import { DISCRIMINATOR_LENGTHS } from '@sluice/ledger/discriminator';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { decodeHotBlock } from '../../dataset/testing/decode-hot-block.ts';
import { answerBlock } from '../../engine/testing/reference/answer-query.ts';
import type { Selection } from '../../query/query.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { decodeBlocks } from '../../segment/testing/decode-blocks.ts';

export async function readAllBlocks(
  dataset: DatasetReader,
  { segments, hot }: ChainSnapshot,
): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const segment of segments)
    blocks.push(...decodeBlocks(openSegment(await dataset.readSegment(segment))));
  for (const block of hot) blocks.push(await decodeHotBlock(dataset, block));
  return blocks;
}

/** Returns the block with only the records of one transaction. */
export function onlyTransaction(block: Block, { transactionIndex }: Transaction): Block {
  const own = <R extends { readonly transactionIndex: number }>(records: readonly R[]) =>
    records.filter((record) => record.transactionIndex === transactionIndex);
  return {
    header: block.header,
    transactions: own(block.transactions),
    instructions: own(block.instructions),
    logs: own(block.logs),
    balances: own(block.balances),
    tokenBalances: own(block.tokenBalances),
    rewards: [],
  };
}

/** Returns the line of a block as a value, with the counts of the whole block and the finalized head. */
export function expectLine(
  selection: Selection,
  records: Block,
  { block, finalized }: { readonly block: Block; readonly finalized: ChainSnapshot['finalized'] },
): string {
  const counts = JSON.stringify({
    transactions: block.transactions.length,
    instructions: block.instructions.length,
    logs: block.logs.length,
    balances: block.balances.length,
    tokenBalances: block.tokenBalances.length,
    rewards: block.rewards.length,
  });
  return (answerBlock(selection, records) ?? '')
    .trimEnd()
    .replace(/"recordCounts":\{[^}]*\}/, `"recordCounts":${counts}`)
    .replace('"finalizedHead":null', `"finalizedHead":${JSON.stringify(finalized)}`);
}

/** Returns every key that a transaction names in any role, including its blockhash. */
export function namesOf(records: Block): Set<string> {
  const names = new Set<string>();
  const add = (...values: (string | null)[]) => {
    for (const value of values) if (value !== null) names.add(value);
  };
  for (const transaction of records.transactions) {
    const { accountKeys, addressTableLookups, loadedAddresses, recentBlockhash } = transaction;
    add(...accountKeys, ...loadedAddresses.writable, ...loadedAddresses.readonly);
    add(...addressTableLookups.map(({ accountKey }) => accountKey), recentBlockhash);
  }
  for (const { programId, accounts } of records.instructions) add(programId, ...accounts);
  for (const { programId } of records.logs) add(programId);
  for (const { account } of records.balances) add(account);
  for (const one of records.tokenBalances) {
    add(one.account, one.preMint, one.postMint, one.preOwner, one.postOwner);
    add(one.preProgramId, one.postProgramId);
  }
  return names;
}

/** Returns in how many transactions each value appears, greatest counts first, equal ones sorted by text. */
export function countBy(
  transactions: readonly Block[],
  list: (records: Block) => Iterable<string>,
): [value: string, count: number][] {
  const counts = new Map<string, number>();
  for (const records of transactions)
    for (const value of new Set(list(records))) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

export function discriminatorsOf({ instructions }: Block): string[] {
  return instructions.flatMap(({ programId, data }) => {
    const length = DISCRIMINATOR_LENGTHS.get(programId) ?? 8;
    const bytes = Buffer.from(decodeBase58(data) ?? []).subarray(0, length);
    return length === 0 ? [] : `${programId} ${bytes.toString('hex')}`;
  });
}

export function mintsOf({ tokenBalances }: Block): string[] {
  return tokenBalances.flatMap(({ preMint, postMint }) => postMint ?? preMint ?? []);
}
