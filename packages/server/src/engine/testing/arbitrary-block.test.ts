import assert from 'node:assert/strict';
import type { Block } from '@sluice/ledger/block';
import { compareInstructionAddresses } from '@sluice/ledger/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { arbitraryBlocks, buildAddresses } from './arbitrary-block.ts';

interface InTransaction {
  readonly transactionIndex: number;
}

interface WithAccount extends InTransaction {
  readonly account: string;
}

/** Returns whether the members are strictly ascending. */
function ascends<Member>(members: readonly Member[], compare: (a: Member, b: Member) => number) {
  return members.every((member, at) => at === 0 || compare(members[at - 1] as Member, member) < 0);
}

const byText = (a: string, b: string) => (a < b ? -1 : Number(a > b));

function checkInstructions(block: Block): void {
  const addressOf = (index: number, address: readonly number[]) => `${index} ${address.join()}`;
  const addresses = new Set<string>();
  for (const { transactionIndex, instructionAddress } of block.instructions) {
    const parent = instructionAddress.slice(0, -1);
    // A parent comes before its children in execution order.
    assert(parent.length === 0 || addresses.has(addressOf(transactionIndex, parent)));
    addresses.add(addressOf(transactionIndex, instructionAddress));
  }
  assert.equal(addresses.size, block.instructions.length);
  for (const { transactionIndex, instructionAddress } of block.logs) {
    assert(addresses.has(addressOf(transactionIndex, instructionAddress)));
  }
}

function checkOrder(block: Block): void {
  const byTransaction = (a: InTransaction, b: InTransaction) =>
    a.transactionIndex - b.transactionIndex;
  const byAccount = (a: WithAccount, b: WithAccount) =>
    byTransaction(a, b) || byText(a.account, b.account);
  assert(ascends(block.transactions, byTransaction));
  assert(
    ascends(
      block.instructions,
      (a, b) =>
        byTransaction(a, b) ||
        compareInstructionAddresses(a.instructionAddress, b.instructionAddress),
    ),
  );
  assert(ascends(block.logs, (a, b) => byTransaction(a, b) || a.logIndex - b.logIndex));
  assert(ascends(block.balances, byAccount));
  assert(ascends(block.tokenBalances, byAccount));
}

test('property: random blocks satisfy the invariants of a block', () => {
  fc.assert(
    fc.property(arbitraryBlocks(), (blocks) => {
      for (const [at, block] of blocks.entries()) {
        const parent = blocks[at - 1];
        if (parent !== undefined) {
          assert.equal(block.header.parentSlot, parent.header.number);
          assert([null, parent.header.hash].includes(block.header.parentHash));
          assert(block.header.number > parent.header.number);
        }
        const known = new Set(block.transactions.map((record) => record.transactionIndex));
        const { instructions, balances, tokenBalances } = block;
        for (const record of [...instructions, ...balances, ...tokenBalances]) {
          assert(known.has(record.transactionIndex));
        }
        checkInstructions(block);
        checkOrder(block);
      }
    }),
  );
});

test('behavior: random blocks include extreme values', () => {
  const blocks = fc.sample(arbitraryBlocks(), { seed: 7, numRuns: 200 }).flat();
  const instructions = blocks.flatMap((block) => block.instructions);
  expect(Math.max(...instructions.map((record) => record.instructionAddress.length))).toBe(9);
  expect(instructions.some((record) => record.accounts.length > 64)).toBe(true);
  expect(instructions.some((record) => record.data.length > 1600)).toBe(true);
  expect(instructions.some((record) => record.data === '')).toBe(true);
  expect(new Set(instructions.map((record) => record.isCommitted)).size).toBe(3);
  expect(blocks.some((block) => block.transactions.length === 0)).toBe(true);
  expect(blocks.some((block) => block.rewards.some((reward) => reward.lamports < 0n))).toBe(true);
  expect(
    blocks.some((block) => block.logs.some((log) => /[\ud800-\udbff]/.test(log.message))),
  ).toBe(true);
  expect(
    blocks.some((block) => block.tokenBalances.some((record) => record.preMint === null)),
  ).toBe(true);
});

test('behavior: a call tree is in execution order', () => {
  expect(buildAddresses([0, 1, 1, 2, 0, 0])).toEqual([[0], [0, 0], [0, 1], [0, 1, 0], [1], [2]]);
});
