/** Blocks that the kernel reads have the same bytes as those of the general reader, and the kernel leaves unusual ones to it. */

import { isCodedError } from '@sluice/base/errors';
import { encodeProtobufBlock, parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';
import type { NormalizeOptions } from '@sluice/source/normalize/normalize-options';
import { blockReaders, kernelTexts } from '@sluice/source/read-block';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { archiveBytes, simulatedForms } from '../../../../source/src/testing/binary-forms.ts';
import {
  checkByteEdits,
  checkLogEdits,
  checkValueDamage,
  wholeBlock,
} from '../../../../source/src/testing/damaged-block.ts';
import { frame, invoke, success } from '../../../../source/src/testing/log-lines.ts';
import {
  address,
  call,
  program,
  type RawObject,
  rawBlock,
  rawTransaction,
  slot,
  toBytes,
  toJson,
} from '../../../../source/src/testing/raw-block.ts';
import {
  hasRealData,
  type RealBlock,
  readRealBlocks,
} from '../../../../source/src/testing/real-data.ts';
import { buildDraft, prepareBlock, prepareDraft } from './prepared-block.ts';

/** One kernel for all tests, as a thread has one for all blocks. */
const kernel = new TransactionKernel(kernelTexts);
const lenient = { metaOptional: true, allowMissing: ['logs', 'rewards'] } as const;

/** Returns the stored block and the counters, or the error. */
function prepare(
  { slot: number, bytes }: RealBlock,
  options: Partial<NormalizeOptions>,
  by?: TransactionKernel,
): unknown {
  try {
    const normalized = normalizeBlock(number, bytes, options, by);
    const { header, bytes: whole, counts } = prepareBlock(normalized);
    const built = buildDraft(prepareDraft(normalized).bytes, header);
    expect(Buffer.compare(built, whole), 'the draft gives the same segment').toBe(0);
    return { header, counts, bytes: Buffer.from(whole).toString('base64') };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { code: error.code, detail: error.detail };
  }
}

/** Checks that both ways agree. Returns how many transactions the kernel accepted. */
function expectSame(bytes: Uint8Array, options: Partial<NormalizeOptions> = lenient): number {
  return expectSameBlock({ slot, bytes }, options);
}

function expectSameBlock(block: RealBlock, options: Partial<NormalizeOptions>): number {
  kernel.begin(true);
  expect(prepare(block, options, kernel)).toEqual(prepare(block, options));
  return kernel.takenCount;
}

const text = (value: string) => new TextEncoder().encode(value);

test('behavior: the kernel accepts an ordinary block, and votes only if they are kept, with the same bytes', () => {
  const bytes = toBytes(wholeBlock());
  expect(expectSame(bytes)).toBe(2);
  expect(expectSame(bytes, { ...lenient, votes: 'keep' })).toBeGreaterThanOrEqual(2);
});

test('property: a block with damaged values gives the same result as without the kernel', () => {
  let takenCount = 0;
  checkValueDamage((raw) => {
    takenCount += expectSame(toBytes(raw));
  }, 200);
  expect(takenCount).toBeGreaterThan(10);
});

test('property: an edited log gives the same result as without the kernel, whether it still fits its calls or not', () => {
  checkLogEdits((raw) => expectSame(toBytes(raw)), 80);
});

test('behavior: a truncated log is accepted if all heights are known, with the same bytes', () => {
  const { length } = logOf(wholeBlock());
  expect(length).toBeGreaterThan(10);
  for (const heights of ['all', 'none', 'odd'] as const) {
    for (let cut = 0; cut <= length; cut++) {
      for (const after of [[], ['Program log: short enough', success(program.a)]]) {
        const raw = wholeBlock();
        setHeights(raw, heights);
        const lines = logOf(raw);
        lines.splice(cut, lines.length, 'Log truncated', ...after);
        const takenCount = expectSame(toBytes(raw));
        if (heights === 'all') expect(takenCount, `cut at ${cut}`).toBe(2);
      }
    }
  }
});

type RawMeta = {
  logMessages: string[];
  innerInstructions: { instructions: { stackHeight?: number }[] }[];
};

const metaOf = (raw: RawObject) => (raw['transactions'] as { meta: RawMeta }[])[0]?.meta as RawMeta;
const logOf = (raw: RawObject) => metaOf(raw).logMessages;

/** Keeps the heights of inner calls, removes them, or sets an impossible one. */
function setHeights(raw: RawObject, heights: 'all' | 'none' | 'odd'): void {
  const calls = metaOf(raw).innerInstructions.flatMap(({ instructions }) => instructions);
  for (const [i, call] of calls.entries()) {
    if (heights === 'none') delete call.stackHeight;
    if (heights === 'odd' && i === 1) call.stackHeight = 5;
  }
}

test('property: changed bytes give the same result as without the kernel', () => {
  checkByteEdits((bytes) => expectSame(bytes), 80);
});

test('property: log lines of any text and escaping give the same result as without the kernel', () => {
  const line = fc.string({ unit: 'binary', maxLength: 40 });
  const prefix = fc.constantFrom(
    '',
    'Program ',
    'Program log: ',
    'Program data: ',
    'Program return: ',
  );
  const isEscaped = fc.boolean();
  fc.assert(
    fc.property(fc.array(fc.tuple(prefix, line), { maxLength: 8 }), isEscaped, (lines, escaped) => {
      const [raw, inside] = [wholeBlock(), lines.map(([head, rest]) => head + rest)];
      const [first] = raw['transactions'] as { meta: { logMessages: string[] } }[];
      first?.meta.logMessages.splice(1, 0, ...inside);
      const json = toJson(raw);
      expectSame(text(escaped ? escapeWide(json) : json));
    }),
    { numRuns: 80 },
  );
});

/** Escapes non-ASCII characters and slashes. */
function escapeWide(json: string): string {
  const hex = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`;
  return json
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, (character) => hex(character.charCodeAt(0)));
}

test('behavior: a duplicate key at any position gives the same result as without the kernel', () => {
  const json = toJson(wholeBlock());
  const keys = [...json.matchAll(/"(\w+)":/g)];
  expect(keys.length).toBeGreaterThan(100);
  for (const { 0: key, index } of keys) {
    for (const value of ['null', '7']) {
      expectSame(text(`${json.slice(0, index)}${key}${value},${json.slice(index)}`));
    }
  }
});

test('behavior: white space makes no difference', () => {
  const raw = JSON.parse(toJson(wholeBlock()).replaceAll(/(?<=[:,[])\d{16,}/g, '5')) as RawObject;
  const bytes = text(JSON.stringify(raw, null, '\t'));
  expect(expectSame(bytes)).toBeGreaterThan(0);
});

test("limit: blocks with more addresses than fit in the kernel's table have the same bytes", () => {
  const transactionsOf = (block: number) =>
    Array.from({ length: 80 }, (_, i) => {
      const mine = Array.from({ length: 240 }, (_, k) =>
        address(1_000_000 * (block + 1) + i * 240 + k),
      );
      return rawTransaction({
        instructions: [call(program.a)],
        message: {
          accountKeys: [address(1), program.a, ...mine],
          instructions: [{ programIdIndex: 1, accounts: [0], data: '' }],
        },
        meta: { logMessages: frame(program.a, 1) },
      });
    });
  for (let block = 0; block < 4; block++) {
    expect(expectSame(toBytes(rawBlock(transactionsOf(block))))).toBe(80);
  }
});

test("limit: a block with more text than fits in the kernel's memory has the same bytes", () => {
  const line = `Program log: ${'x'.repeat(200_000)}`;
  const transactions = Array.from({ length: 50 }, () =>
    rawTransaction({
      instructions: [call(program.a)],
      meta: { logMessages: [invoke(program.a, 1), line, success(program.a)] },
    }),
  );
  const takenCount = expectSame(toBytes(rawBlock(transactions)));
  expect(takenCount).toBeGreaterThan(30);
  expect(takenCount).toBeLessThan(50);
});

const files = ['blocks-various.jsonl.gz', 'chain-devnet-333688600.jsonl.gz'];

describe.skipIf(!files.every(hasRealData))('real data, skipped if absent', () => {
  test.each(files)(
    'behavior: the kernel accepts nearly all transactions of %s, with the same bytes',
    (file) => {
      const options = { ...lenient, votes: 'keep' } as const;
      let takenCount = 0;
      let leftCount = 0;
      for (const block of readRealBlocks(file)) {
        takenCount += expectSameBlock(block, options);
        leftCount += normalizeBlock(block.slot, block.bytes, options, kernel).block.transactions
          .length;
      }
      expect(takenCount).toBeGreaterThan(leftCount * 20);
    },
  );
});

/** Checks that a block in each binary form is stored with the same bytes as its JSON. Returns how many transactions the kernel left. */
function expectSameForms({ slot: number, bytes }: RealBlock): number {
  const block = parseJsonBlock(bytes);
  const forms = { protobuf: encodeProtobufBlock(block), archive: archiveBytes(number, block) };
  let leftCount = 0;
  for (const votes of ['keep', 'drop'] as const) {
    const options = { ...lenient, votes };
    const expected = prepareBlock(normalizeBlock(number, bytes, options));
    for (const format of ['protobuf', 'archive'] as const) {
      const normalized = blockReaders[format](number, forms[format], options, kernel);
      leftCount += normalized.block.transactions.length;
      const { header, bytes: stored, counts } = prepareBlock(normalized);
      expect(header).toEqual(expected.header);
      expect(Buffer.compare(stored, expected.bytes), `${number} ${format} ${votes}`).toBe(0);
      // A binary form cannot say that rewards are missing.
      expect({ ...counts, missingRewards: 0 }).toEqual({ ...expected.counts, missingRewards: 0 });
    }
  }
  return leftCount;
}

test('property: blocks of the simulated ledger are stored with the same bytes in all forms', () => {
  const content = { transactionsPerBlock: 60, votes: 10, epochRewardsPerBlock: 20 };
  for (const seed of [5, 6]) {
    const blocks = simulatedForms(3, content, seed);
    for (const { slot: number, json } of blocks) {
      expect(expectSameForms({ slot: number, bytes: json })).toBeLessThan(20);
    }
  }
});

describe.skipIf(!files.every(hasRealData))('real data in binary forms, skipped if absent', () => {
  test.each(files)('behavior: the blocks of %s are stored with the same bytes', (file) => {
    for (const block of readRealBlocks(file)) expectSameForms(block);
  });
});
