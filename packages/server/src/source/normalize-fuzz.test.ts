import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CodedError } from '../base/errors.ts';
import type { Block } from '../ledger/block.ts';
import { compareInstructionAddresses } from '../ledger/instruction-address.ts';
import { type NormalizedBlock, normalizeBlock } from './normalize-block.ts';
import { frame, invoke, success } from './testing/log-lines.ts';
import {
  address,
  at,
  call,
  program,
  type RawObject,
  rawBlock,
  rawTransaction,
  slot,
  toBytes,
  toJson,
} from './testing/raw-block.ts';
import { hasRealData, readRealBlocks } from './testing/real-data.ts';

const { a, b, c, d } = program;

/** A block in which every optional part is there to be damaged. */
function buildWholeBlock(): RawObject {
  const token = (accountIndex: number, amount: string) => ({
    accountIndex,
    mint: address(4),
    owner: address(5),
    programId: address(6),
    uiTokenAmount: { amount, decimals: 6, uiAmount: 0.5, uiAmountString: '0.5' },
  });
  const nested = rawTransaction({
    version: 0,
    instructions: [call(a, { accounts: [0, 1], data: '3Bxs', stackHeight: 1 }), call(d)],
    message: {
      addressTableLookups: [{ accountKey: address(7), writableIndexes: [1], readonlyIndexes: [2] }],
    },
    meta: {
      fee: 2n ** 64n - 1n,
      preBalances: [5, 2n ** 60n, 7],
      postBalances: [5, 2n ** 60n + 1n, 8],
      preTokenBalances: [token(0, '5'), token(1, '6')],
      postTokenBalances: [token(1, '7'), token(2, '18446744073709551615')],
      innerInstructions: [{ index: 0, instructions: [at(2, b), at(3, c), at(2, c), at(2, d)] }],
      loadedAddresses: { writable: [address(30)], readonly: [address(31)] },
      logMessages: [
        invoke(a, 1),
        'Program log: one\ntwo',
        ...frame(b, 2, frame(c, 3, ['Program data: AQID'])),
        ...frame(c, 2),
        `Program ${a} consumed 12 of 100 compute units`,
        success(a),
        ...frame(d, 1),
      ],
    },
  });
  const failing = rawTransaction({
    instructions: [call(a), call(b)],
    meta: {
      err: { InstructionError: [0, { Custom: 1 }] },
      logMessages: [invoke(a, 1), `Program ${a} failed: custom program error: 0x1`],
    },
  });
  const vote = rawTransaction({ instructions: [call(program.vote)] });
  const rewards = [
    { pubkey: address(3), lamports: -5, postBalance: 10, rewardType: 'Fee', commission: null },
  ];
  return rawBlock([nested, vote, failing], { rewards });
}

const template = buildWholeBlock();
/** A copy of its own, to be damaged. */
const wholeBlock = () => structuredClone(template);

/** The block, or undefined if it was refused; anything else that is thrown is a bug. */
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

/** Whatever was taken is whole: every instruction is there, in order, below its ancestors, and logs name what exists. */
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

const oddities: readonly unknown[] = [
  null,
  undefined,
  0,
  -1,
  1,
  1.5,
  255,
  256,
  2n ** 53n + 1n,
  2n ** 64n,
  -(2n ** 63n) - 1n,
  '',
  'x',
  '0',
  '__proto__',
  '1'.repeat(32),
  '\u007f1234567890123456',
  true,
  [],
  {},
  [null],
  [[]],
  { length: 3 },
];

/** Every place of the tree that can be replaced, as its parent and key. */
function places(value: unknown, found: [RawObject, string][] = []): [RawObject, string][] {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, member] of Object.entries(value)) {
    found.push([value as RawObject, key]);
    places(member, found);
  }
  return found;
}

test('property: edge case 21, F-07, I-90: a block with damaged values is refused by code or taken whole', () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(oddities.length - 1)), {
    minLength: 1,
    maxLength: 3,
  });
  let takenCount = 0;
  fc.assert(
    fc.property(damage, (list) => {
      const raw = wholeBlock();
      for (const [place, oddity] of list) {
        const all = places(raw);
        const [parent, key] = all[place % all.length] ?? [raw, 'blockhash'];
        const value = structuredClone(oddities[oddity]);
        parent[key] = Array.isArray(parent) && value === undefined ? null : value;
      }
      const bytes = toBytes(raw);
      const outcome = normalizeOrRefuse(bytes);
      if (outcome === undefined) return;
      takenCount++;
      expectWhole(outcome.block, JSON.parse(toJson(raw)) as RawParts);
    }),
    { numRuns: 1_500 },
  );
  // Both ends are met: not everything is refused, nor taken.
  expect(takenCount).toBeGreaterThan(100);
  expect(takenCount).toBeLessThan(1_400);
});

const lineForms = (index: number) => {
  const id = [a, b, c, d, address(200)][index % 5] as string;
  return [
    invoke(id, (index % 4) + 1),
    success(id),
    `Program ${id} failed: x`,
    `Program ${id} consumed 5 of 10 compute units`,
    'Program log: y',
    'Program data: y',
    'Program return: y',
    'Log truncated',
    `Program ${id} invoke [99999999999999999999999]`,
    '',
  ][index % 10] as string;
};

test('property: edge case 21: no log fails a block or changes anything but logs, flags and addresses', () => {
  const edit = fc.record({
    kind: fc.constantFrom('delete', 'repeat', 'swap', 'insert', 'cut'),
    at: fc.nat(40),
    line: fc.nat(49),
  });
  const heights = fc.constantFrom('kept', 'absent', 'odd');
  const untouched = normalizeBlock(slot, toBytes(wholeBlock()));
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 6 }), heights, (edits, heightKind) => {
      const raw = wholeBlock();
      const [first] = raw['transactions'] as { meta: RawObject }[];
      const lines = first?.meta['logMessages'] as string[];
      for (const { kind, at: place, line } of edits) editLines(lines, kind, place, line);
      const groups = first?.meta['innerInstructions'] as { instructions: RawObject[] }[];
      for (const [i, entry] of (groups[0]?.instructions ?? []).entries()) {
        if (heightKind === 'absent') delete entry['stackHeight'];
        if (heightKind === 'odd') entry['stackHeight'] = ((i * 7 + lines.length) % 5) + 1;
      }
      const outcome = normalizeBlock(slot, toBytes(raw));
      expectWhole(outcome.block, JSON.parse(toJson(raw)) as RawParts);
      expect(outcome.block.balances).toEqual(untouched.block.balances);
      expect(outcome.block.tokenBalances).toEqual(untouched.block.tokenBalances);
      const other = (block: Block) => block.instructions.filter((i) => i.transactionIndex === 2);
      expect(other(outcome.block)).toEqual(other(untouched.block));
    }),
    { numRuns: 1_500 },
  );
});

function editLines(lines: string[], kind: string, place: number, line: number): void {
  const index = place % Math.max(1, lines.length);
  if (kind === 'delete') lines.splice(index, 1);
  else if (kind === 'repeat') lines.splice(index, 0, lines[index] ?? '');
  else if (kind === 'insert') lines.splice(index, 0, lineForms(line));
  else if (kind === 'cut') lines.length = index;
  else lines.push(...lines.splice(index, 1));
}

function damageBytes(bytes: Uint8Array, edits: readonly (readonly [number, number])[]): Uint8Array {
  const damaged = bytes.slice();
  for (const [place, byte] of edits) damaged[place % damaged.length] = byte;
  return damaged;
}

const byteEdits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });

test('property: edge case 21, F-07: flipped bytes are refused by code or taken', () => {
  const bytes = toBytes(wholeBlock());
  fc.assert(
    fc.property(byteEdits, (edits) => {
      normalizeOrRefuse(damageBytes(bytes, edits));
    }),
    { numRuns: 1_500 },
  );
});

test('property: edge case 32: a reply cut at any byte is refused as no JSON', () => {
  const bytes = toBytes(wholeBlock());
  for (let end = 0; end < bytes.length; end += 7) {
    expect(() => normalizeBlock(slot, bytes.subarray(0, end))).toThrow(
      expect.objectContaining({ code: 'block-not-json' }),
    );
  }
});

const file = 'chain-devnet-333688600.jsonl.gz';
describe.skipIf(!hasRealData(file))('real data, skipped where absent', () => {
  test('property: edge case 21, F-07: real blocks with flipped bytes are refused by code or taken', () => {
    const blocks = readRealBlocks(file).map(({ bytes }) => bytes);
    fc.assert(
      fc.property(fc.nat(blocks.length - 1), byteEdits, (index, edits) => {
        normalizeOrRefuse(damageBytes(blocks[index] as Uint8Array, edits));
      }),
      { numRuns: 200 },
    );
  });
});
