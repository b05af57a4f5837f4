import { CodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import { compareInstructionAddresses } from '@sluice/ledger/primitives';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  byteEdits,
  checkByteEdits,
  checkLogEdits,
  checkValueDamage,
  damageBytes,
  wholeBlock,
} from '../testing/damaged-block.ts';
import { slot, toBytes, toJson } from '../testing/raw-block.ts';
import { hasRealData, readRealBlocks } from '../testing/real-data.ts';
import { type NormalizedBlock, normalizeBlock } from './normalize-block.ts';

/** Returns the block, or undefined if it was refused. Any other exception is a bug. */
function normalizeOrRefuse(bytes: Uint8Array): NormalizedBlock | undefined {
  try {
    return normalizeBlock(slot, bytes, { metaOptional: true, allowMissing: ['logs'] });
  } catch (error) {
    if (error instanceof CodedError) {
      expect(error.detail['slot']).toBe(slot);
      return undefined;
    }
    throw error;
  }
}

interface RawParts {
  readonly transactions: readonly {
    transaction: { message: { instructions: unknown[] } };
    meta: { innerInstructions?: { instructions: unknown[] }[] | null } | null;
  }[];
}

/**
 * Checks that an accepted block is complete: every instruction is present, in order, below its ancestors, and logs refer to existing ones.
 */
function expectWhole(block: Block, raw: RawParts): void {
  for (const { transactionIndex } of block.transactions) {
    const entry = raw.transactions[transactionIndex];
    const top = entry?.transaction.message.instructions.length ?? 0;
    const inner = (entry?.meta?.innerInstructions ?? []).flatMap((g) => g.instructions).length;
    const mine = block.instructions.filter((i) => i.transactionIndex === transactionIndex);
    expect(mine).toHaveLength(top + inner);
    const addresses = mine.map((i) => i.instructionAddress);
    expect([...addresses].sort(compareInstructionAddresses)).toEqual(addresses);
    const known = new Set(addresses.map((path) => path.join('.')));
    expect(known.size).toBe(mine.length);
    const parents = addresses.map((path) => path.slice(0, -1).join('.'));
    const lines = block.logs.filter((log) => log.transactionIndex === transactionIndex);
    const named = lines.map((log) => log.instructionAddress.join('.'));
    expect([...parents, ...named].filter((path) => path !== '' && !known.has(path))).toEqual([]);
  }
}

test('property: F-07, I-90: a block with damaged values is refused with a code or accepted completely', () => {
  let takenCount = 0;
  checkValueDamage((raw) => {
    const outcome = normalizeOrRefuse(toBytes(raw));
    if (outcome === undefined) return;
    takenCount++;
    expectWhole(outcome.block, JSON.parse(toJson(raw)) as RawParts);
  }, 1_500);
  // Both outcomes occur often.
  expect(takenCount).toBeGreaterThan(100);
  expect(takenCount).toBeLessThan(1_400);
});

test('property: a damaged log never fails a block and changes only logs, flags and addresses', () => {
  const untouched = normalizeBlock(slot, toBytes(wholeBlock()));
  checkLogEdits((raw) => {
    const outcome = normalizeBlock(slot, toBytes(raw));
    expectWhole(outcome.block, JSON.parse(toJson(raw)) as RawParts);
    expect(outcome.block.balances).toEqual(untouched.block.balances);
    expect(outcome.block.tokenBalances).toEqual(untouched.block.tokenBalances);
    const other = (block: Block) => block.instructions.filter((i) => i.transactionIndex === 2);
    expect(other(outcome.block)).toEqual(other(untouched.block));
  }, 1_500);
});

test('property: F-07: a block with changed bytes is refused with a code or accepted', () => {
  checkByteEdits((bytes) => normalizeOrRefuse(bytes), 1_500);
});

test('property: a reply truncated at any byte is refused as invalid JSON', () => {
  const bytes = toBytes(wholeBlock());
  for (let end = 0; end < bytes.length; end += 7) {
    expect(() => normalizeBlock(slot, bytes.subarray(0, end))).toThrow(
      expect.objectContaining({ code: 'block-not-json' }),
    );
  }
});

const file = 'chain-devnet-333688600.jsonl.gz';
describe.skipIf(!hasRealData(file))('real data, skipped if absent', () => {
  test('property: F-07: real blocks with changed bytes are refused with a code or accepted', () => {
    const blocks = readRealBlocks(file).map(({ bytes }) => bytes);
    fc.assert(
      fc.property(fc.nat(blocks.length - 1), byteEdits, (index, edits) => {
        normalizeOrRefuse(damageBytes(blocks[index] as Uint8Array, edits));
      }),
      { numRuns: 200 },
    );
  });
});
