import { decodeBase58 } from '@sluice/base/base58';
import type { Block, Instruction } from '@sluice/ledger/block';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { PART } from '../layout/directory.ts';
import { openSegment } from '../read/open-segment.ts';
import { buildSegment } from '../write/build-segment.ts';
import { ClassIndexBuilder, canBeginWith, type InstructionClass } from './class-index.ts';
import { SegmentIndex } from './segment-index.ts';

interface Call {
  readonly program: number;
  readonly transaction: number;
  readonly data: Uint8Array;
  readonly committed: number;
}

function classesOf(calls: readonly Call[]): InstructionClass[] {
  const builder = new ClassIndexBuilder();
  for (const { program, transaction, data, committed } of calls) {
    const padded = new Uint8Array(8);
    padded.set(data.subarray(0, 8));
    const view = new DataView(padded.buffer);
    const [low, high] = [view.getUint32(0, true), view.getUint32(4, true)];
    builder.add(program, transaction, { low, high, length: data.length, committed });
  }
  return builder.classes;
}

const startsWith = (data: Uint8Array, prefix: Uint8Array) =>
  data.length >= prefix.length && prefix.every((byte, i) => data[i] === byte);
const isOf = ({ program, prefix, isWhole, committed }: InstructionClass, call: Call) =>
  call.program === program &&
  call.committed === committed &&
  startsWith(call.data, prefix) &&
  (!isWhole || call.data.length === prefix.length);
const distinct = (values: readonly number[]) => [...new Set(values)].sort((a, b) => a - b);

/** Checks that each call is in exactly one class that describes it correctly. */
function expectTrue(calls: readonly Call[], classes: readonly InstructionClass[]): void {
  for (const own of classes) {
    const members = calls.filter((call) => isOf(own, call));
    expect(own.instructionCount).toBe(members.length);
    expect([...own.transactions]).toEqual(distinct(members.map(({ transaction }) => transaction)));
  }
  const total = classes.reduce((sum, { instructionCount }) => sum + instructionCount, 0);
  expect(total).toBe(calls.length);
}

describe('classes of instructions', () => {
  const call = fc.record({
    program: fc.nat(2),
    data: fc.oneof(
      fc.uint8Array({ maxLength: 10 }),
      fc.array(fc.nat(1), { maxLength: 10 }).map((bytes) => Uint8Array.from(bytes)),
    ),
    committed: fc.nat(2),
    isNext: fc.boolean(),
  });
  const calls = fc.array(call, { maxLength: 60 }).map((list) => {
    let transaction = 0;
    return list.map(({ isNext, ...own }): Call => {
      transaction += Number(isNext);
      return { ...own, transaction };
    });
  });

  test('property: each instruction is in one class, whose counts and transactions are exact', () => {
    fc.assert(
      fc.property(calls, (all) => {
        const classes = classesOf(all);
        expectTrue(all, classes);
        const order = classes.map(({ program }) => program);
        expect(order).toEqual(order.toSorted((a, b) => a - b));
      }),
      { numRuns: 200 },
    );
  });

  test('property: an instruction that starts with some bytes is in a class that allows them', () => {
    fc.assert(
      fc.property(calls, fc.nat(12), (all, length) => {
        const classes = classesOf(all);
        for (const own of all) {
          const bytes = own.data.subarray(0, length);
          const home = classes.find((each) => isOf(each, own)) as InstructionClass;
          expect(canBeginWith(home, bytes)).toBe(true);
        }
        // A class is exact if it is whole or its prefix is longer than the bytes.
        for (const own of classes) {
          const other = Uint8Array.from([...own.prefix, 1]);
          if (own.isWhole) expect(canBeginWith(own, other)).toBe(false);
          if (own.prefix.length > 0) {
            const first = Uint8Array.of((own.prefix[0] as number) ^ 1);
            expect(canBeginWith(own, first)).toBe(false);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ['eight bytes distinguish 256 classes', 256, (i: number) => [1, 2, 3, 4, 5, 6, 7, i], 8],
    ['the fifth byte on is an amount', 257, (i: number) => [9, 9, 9, i & 3, i, i >> 8, 0, 0], 4],
    ['the third byte on is an amount', 900, (i: number) => [9, i & 3, i, i >> 8, 0, 0, 0, 0], 2],
    ['the second byte on is an amount', 900, (i: number) => [i & 3, i >> 2, 0, 0, 0, 0, 0, 0], 1],
  ])(
    'limit: %s: the prefix is shortened until there are few classes',
    (_, count, dataOf, length) => {
      const all = Array.from({ length: count }, (_, i): Call => {
        const data = Uint8Array.from(dataOf(i));
        return { program: 5, transaction: i >> 1, data, committed: 1 };
      });
      const classes = classesOf(all);
      expect(classes.length).toBeLessThanOrEqual(256);
      for (const { prefix, isWhole } of classes)
        expect([prefix.length, isWhole]).toEqual([length, false]);
      expectTrue(all, classes);
    },
  );

  test('limit: if even the first byte and the outcome make too many classes, there is one class per outcome', () => {
    const all = Array.from({ length: 600 }, (_, i): Call => {
      return { program: 0, transaction: i, data: Uint8Array.of(i), committed: i % 3 };
    });
    const classes = classesOf(all);
    expect(classes.map(({ prefix, committed }) => [prefix.length, committed])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
    ]);
    expectTrue(all, classes);
  });

  test('behavior: data shorter than a shortened prefix stays whole', () => {
    const long = Array.from({ length: 400 }, (_, i): Call => {
      const data = Uint8Array.from([7, i & 1, 0, 0, i, i >> 8, 1, 1]);
      return { program: 1, transaction: i, data, committed: 1 };
    });
    const short = [[], [7], [7, 0, 0], [7, 0, 0, 0]].map((bytes, i): Call => {
      return { program: 1, transaction: 400 + i, data: Uint8Array.from(bytes), committed: 1 };
    });
    const all = [...long, ...short];
    const classes = classesOf(all);
    expectTrue(all, classes);
    expect(classes.map(({ prefix, isWhole }) => [prefix.join(), isWhole])).toEqual([
      ['', true],
      ['7', true],
      ['7,0,0', true],
      ['7,0,0,0', false],
      ['7,1,0,0', false],
    ]);
  });
});

describe('the indexes of a segment', () => {
  const blocks = simulatedBlocks({
    content: { profile: '2025', transactionsPerBlock: 60 },
    blockCount: 4,
  });
  const segment = openSegment(buildSegment(blocks));
  const index = new SegmentIndex(segment);
  const decoded = new Map<string, Uint8Array>();
  const keyOf = (text: string) => {
    const bytes = decoded.get(text) ?? (decodeBase58(text) as Uint8Array);
    decoded.set(text, bytes);
    return bytes;
  };
  const idOf = (text: string) => index.find(keyOf(text)) as number;

  interface Placed extends Instruction {
    readonly transaction: number;
    readonly bytes: Uint8Array;
  }
  const transactions = blocks.flatMap((block) => block.transactions);
  /** Instructions with the number of their transaction in the segment. */
  const instructions = blocks.flatMap((block, i) => {
    const before = blocks.slice(0, i).reduce((sum, { transactions: own }) => sum + own.length, 0);
    return block.instructions.map((own): Placed => {
      const place = block.transactions.findIndex(
        ({ transactionIndex }) => transactionIndex === own.transactionIndex,
      );
      return { ...own, transaction: before + place, bytes: keyOf(own.data) };
    });
  });
  const candidates = (filter: Parameters<SegmentIndex['findClasses']>[0]) =>
    distinct(index.findClasses(filter).flatMap((n) => [...index.classes.transactions(n)]));

  test('behavior: classes give the same transactions as a scan of the blocks', () => {
    const programs = [...new Set(instructions.map(({ programId }) => programId))];
    expect(programs.length).toBeGreaterThan(5);
    let exact = 0;
    for (const programId of programs) {
      const members = instructions.filter((own) => own.programId === programId);
      const id = idOf(programId);
      const [first, end] = index.classes.ofProgram(id);
      const rows = Array.from({ length: end - first }, (_, i) => index.classes.row(first + i));
      for (const { bytes } of members.slice(0, 3)) {
        for (const [length, committed] of [0, 1, 4, 8, 12].flatMap((bytesUsed) =>
          [undefined, true, false].map((outcome) => [bytesUsed, outcome] as const),
        )) {
          const prefix = bytes.subarray(0, length);
          const matching = members.filter(
            (own) =>
              startsWith(own.bytes, prefix) &&
              (committed === undefined || own.isCommitted === committed),
          );
          const expected = distinct(matching.map(({ transaction }) => transaction));
          const filter = { programs: Uint32Array.of(id), prefixes: [[prefix]], committed };
          const found = candidates(filter);
          expect(expected.every((transaction) => found.includes(transaction))).toBe(true);
          // Only if the program's classes distinguish that many bytes.
          if (!rows.every((row) => row.isWhole || row.prefix.length >= prefix.length)) continue;
          expect(found).toEqual(expected);
          exact++;
        }
      }
    }
    expect(exact).toBeGreaterThan(100);
  });

  test('behavior: without a program all classes are searched, and values of one filter are combined', () => {
    const [a, b] = [instructions[3], instructions[90]] as [Placed, Placed];
    const prefixes = [[a.bytes.subarray(0, 1), b.bytes.subarray(0, 1)]];
    const matching = instructions.filter(({ bytes }) =>
      prefixes[0]?.some((prefix) => startsWith(bytes, prefix)),
    );
    expect(candidates({ programs: undefined, prefixes, committed: undefined })).toEqual(
      distinct(matching.map(({ transaction }) => transaction)),
    );
  });

  test('behavior: every instruction is counted in a class', () => {
    const { classes } = index;
    let total = 0;
    for (let i = 0; i < classes.count; i++) total += classes.row(i).instructionCount;
    expect(total).toBe(instructions.length);
    const program = instructions[0]?.programId as string;
    const [first, end] = classes.ofProgram(idOf(program));
    const own = Array.from({ length: end - first }, (_, i) => classes.row(first + i));
    expect(own.reduce((sum, { instructionCount }) => sum + instructionCount, 0)).toBe(
      instructions.filter(({ programId }) => programId === program).length,
    );
  });

  test('behavior: every signature finds its transaction and almost no other', () => {
    let foundCount = 0;
    let signatureCount = 0;
    transactions.forEach(({ signatures }, number) => {
      for (const signature of signatures) {
        const found = index.findSignature(keyOf(signature));
        expect(found).toContain(number);
        foundCount += found.length;
        signatureCount++;
      }
    });
    expect(segment.directory.signatureCount).toBe(signatureCount);
    expect(foundCount / signatureCount).toBeLessThan(1.08);
    const absent = transactions.map(({ signatures }) =>
      keyOf(signatures[0] as string).map((byte) => byte ^ 0x5a),
    );
    const passed = absent.filter((signature) => index.findSignature(signature).length > 0);
    expect(passed.length / absent.length).toBeLessThan(0.08);
  });

  test('behavior: every address finds the transactions that name it, and absent addresses are not found', () => {
    const named = new Map<string, number[]>();
    blocks.flatMap(keysByTransaction).forEach((keys, transaction) => {
      for (const key of keys) named.set(key, [...(named.get(key) ?? []), transaction]);
    });
    for (const [key, list] of [...named].filter((_, i) => i % 5 === 0))
      expect([...index.transactions(idOf(key))]).toEqual(list);
    for (const key of [...named.keys()].slice(0, 300))
      expect(index.find(keyOf(key).map((byte) => byte ^ 1))).toBeUndefined();
  });

  test('behavior: mints and the busiest accounts are counted', () => {
    const records = new Map<number, number>();
    for (const { postMint, preMint } of blocks.flatMap((block) => block.tokenBalances)) {
      const id = idOf((postMint ?? preMint) as string);
      records.set(id, (records.get(id) ?? 0) + 1);
    }
    const mints = segment.readIntUnit(PART.mints, 0);
    const counts = segment.readIntUnit(PART.mints, 1);
    expect(Array.from(mints, (id, i) => [id, counts[i]])).toEqual(
      [...records].sort(([a], [b]) => a - b),
    );
    const [accounts, mentions] = [0, 1].map((n) => segment.readIntUnit(PART.accounts, n));
    expect(accounts?.length).toBe(Math.min(1_024, segment.directory.addressCount));
    accounts?.forEach((id, i) => {
      expect(mentions?.[i]).toBe(index.transactions(id).length);
      if (i > 0) expect(mentions?.[i]).toBeLessThanOrEqual(mentions?.[i - 1] as number);
    });
  });
});

/** Returns every address and hash that each transaction of a block, or one of its records, names. */
function keysByTransaction(block: Block): Set<string>[] {
  return block.transactions.map((transaction) => {
    const isOwn = (record: { readonly transactionIndex: number }) =>
      record.transactionIndex === transaction.transactionIndex;
    const { accountKeys, loadedAddresses, addressTableLookups, recentBlockhash } = transaction;
    const texts = [
      ...accountKeys,
      ...loadedAddresses.writable,
      ...loadedAddresses.readonly,
      ...addressTableLookups.map(({ accountKey }) => accountKey),
      recentBlockhash,
      ...block.instructions.filter(isOwn).flatMap((own) => [own.programId, ...own.accounts]),
      ...block.logs.filter(isOwn).map(({ programId }) => programId),
      ...block.balances.filter(isOwn).map(({ account }) => account),
      ...block.tokenBalances
        .filter(isOwn)
        .flatMap((own) => [
          own.account,
          own.preMint,
          own.postMint,
          own.preOwner,
          own.postOwner,
          own.preProgramId,
          own.postProgramId,
        ]),
    ];
    return new Set<string>(texts.filter((text) => text !== null));
  });
}
