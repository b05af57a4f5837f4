/** Checks that the laws find wrong records: one record of correct blocks is changed at a time. */

import { encodeBase58 } from '@sluice/base/base58';
import { SimulatedChain } from '@sluice/simulator/chain/chain';
import type { ChainBlock } from '@sluice/simulator/chain/chain-block';
import { describe, expect, test } from 'vitest';
import type { Block, Instruction, Log } from '../../packages/ledger/src/block.ts';
import { expectedBlock } from '../../packages/simulator/src/content/testing/expected-block.ts';
import { LawChecker } from './check-laws.ts';
import { generatorOf, SMALL } from './law-runs.ts';
import { IDLS, isEventCall } from './read-idl.ts';
import { Call, TRANSFER, TRANSFER_CHECKED } from './transaction-records.ts';

const BLOCK_COUNT = 65;
const AMM = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';

type Kind = Exclude<keyof Block, 'header'>;
type Row<K extends Kind> = Block[K][number];
/** Falsifies a record: returns the changed record, null to remove it, or undefined to leave it as it is. */
type Change<K extends Kind> = (row: Row<K>, block: Block) => Row<K> | null | undefined;

function makeBlocks(): Block[] {
  const chain = new SimulatedChain({ seed: 3, skipRate: 0 });
  const generator = generatorOf(3, SMALL);
  return Array.from({ length: BLOCK_COUNT }, (_, slot) =>
    expectedBlock(generator.generate(chain.blockAt(slot) as ChainBlock), { votes: 'keep' }),
  );
}

const blocks = makeBlocks();

/** Returns the blocks with the first change that applies, not before the given slot. */
function withChange<K extends Kind>(kind: K, change: Change<K>, firstSlot = 20): Block[] {
  for (const [slot, block] of blocks.entries()) {
    if (slot < firstSlot) continue;
    for (const [i, row] of (block[kind] as readonly Row<K>[]).entries()) {
      const changed = change(row, block);
      if (changed === undefined) continue;
      const rows = (block[kind] as readonly Row<K>[]).toSpliced(
        i,
        1,
        ...(changed ? [changed] : []),
      );
      return blocks.with(slot, { ...block, [kind]: rows });
    }
  }
  return expect.unreachable('no record can be changed like this');
}

function check(checked: readonly Block[]): string {
  const checker = new LawChecker();
  for (const block of checked) checker.apply(block);
  checker.checkSums('the end');
  return checker.broken.join('\n');
}

function isFailed(block: Block, { transactionIndex }: { transactionIndex: number }): boolean {
  return block.transactions.some((row) => row.transactionIndex === transactionIndex && row.err);
}

/** Adds one to a 64-bit integer of an instruction's data. */
function withAmount(row: Instruction, at: number): Instruction {
  const { data } = new Call(row);
  data.writeBigUInt64LE(data.readBigUInt64LE(at) + 1n, at);
  return { ...row, data: encodeBase58(data) };
}

function isTransfer(row: Instruction, block: Block, kind: number): boolean {
  const call = new Call(row);
  return call.isToken && call.data[0] === kind && !isFailed(block, row);
}

function isSwapEvent(row: Log, block: Block): boolean {
  return row.programId === AMM && row.kind === 'data' && !isFailed(block, row);
}

describe('the checks of the laws', () => {
  test('default: correct blocks break no law', () => {
    expect(check(blocks)).toBe('');
  });

  const cases: [string, RegExp, () => Block[]][] = [
    [
      'a balance with a lamport from nowhere',
      /the lamports decreased by/,
      () => withChange('balances', (row) => ({ ...row, post: row.post + 1n })),
    ],
    [
      'a missing balance',
      /the lamports decreased by|pre .*, last/,
      () => withChange('balances', () => null),
    ],
    [
      'a missing reward of the leader',
      /the leader got/,
      () => withChange('rewards', (row) => (row.rewardType === 'Fee' ? null : undefined)),
    ],
    [
      'a failed transaction that changes tokens',
      /a failed transaction changed the tokens/,
      () =>
        withChange('tokenBalances', (row, block) =>
          isFailed(block, row) ? { ...row, postAmount: (row.postAmount ?? 0n) + 1n } : undefined,
        ),
    ],
    [
      'tokens that a known account did not have after its last transaction',
      /before a transaction, .* after the last/,
      () =>
        withChange('tokenBalances', (row) =>
          row.preAmount === row.postAmount && row.preAmount !== null
            ? { ...row, preAmount: row.preAmount + 1n, postAmount: row.preAmount + 1n }
            : undefined,
        ),
    ],
    [
      'another amount of a transfer',
      /by balances, .* by instructions/,
      () =>
        withChange('instructions', (row, block) =>
          isTransfer(row, block, TRANSFER) ? withAmount(row, 1) : undefined,
        ),
    ],
    [
      'another mint of a checked transfer',
      /a transfer of .*, its accounts hold/,
      () =>
        withChange('instructions', (row, block) => {
          const [from, , ...rest] = row.accounts;
          const isChecked = isTransfer(row, block, TRANSFER_CHECKED) && from !== undefined;
          return isChecked ? { ...row, accounts: [from, from, ...rest] } : undefined;
        }),
    ],
    [
      'another amount of a minted coin',
      /supply \d+, held \d+/,
      () =>
        withChange(
          'instructions',
          (row, block) => (isTransfer(row, block, 7) ? withAmount(row, 1) : undefined),
          0,
        ),
    ],
    [
      'another amount of a swap in the log',
      /swap should move .* but moved/,
      () =>
        withChange('logs', (row, block) => {
          if (!isSwapEvent(row, block)) return undefined;
          const data = Buffer.from(row.message, 'base64');
          data.writeBigUInt64LE(data.readBigUInt64LE(80) + 1n, 80);
          return { ...row, message: data.toString('base64') };
        }),
    ],
    [
      'a swap without an event',
      /swap has the events \[\]/,
      () => withChange('logs', (row, block) => (isSwapEvent(row, block) ? null : undefined)),
    ],
    [
      'another amount of an event that is a call',
      /a route of .* swapped|trade|take of/,
      () =>
        withChange('instructions', (row, block) => {
          const isEvent = IDLS.has(row.programId) && isEventCall(new Call(row).data);
          return isEvent && !isFailed(block, row) ? withAmount(row, 112) : undefined;
        }),
    ],
    [
      'an address that is missing in the transaction',
      /is not in the transaction/,
      () =>
        withChange('transactions', ({ accountKeys, ...row }) => ({
          ...row,
          accountKeys: accountKeys.slice(0, -1),
        })),
    ],
    [
      'another address at an index of a lookup table',
      /was .* and is/,
      () =>
        withChange('transactions', ({ loadedAddresses: { writable, readonly }, ...row }) => {
          if (writable.length < 2) return undefined;
          return { ...row, loadedAddresses: { writable: writable.toReversed(), readonly } };
        }),
    ],
    [
      'a changed account that is not writable',
      /changed, but is not writable/,
      () =>
        withChange('transactions', (row) => ({
          ...row,
          numReadonlySignedAccounts: row.numRequiredSignatures,
        })),
    ],
  ];

  test.each(cases)('behavior: %s breaks a law', (_, message, change) => {
    expect(check(change())).toMatch(message);
  });
});
