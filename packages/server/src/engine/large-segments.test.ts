/** Typical queries over segments of several row groups with small pages and dictionaries, compared with the reference. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBase58 } from '@sluice/base/base58';
import { isCodedError } from '@sluice/base/errors';
import type { Block, Instruction } from '@sluice/ledger/block';
import { discriminator } from '@sluice/ledger/discriminator';
import type { QueryBody } from '@sluice/protocol/query-body';
import { afterAll, describe, expect, test } from 'vitest';
import { simulatedBlocks } from '../../../simulator/src/testing/simulated-blocks.ts';
import type { Query } from '../query/query.ts';
import { chunkBytes } from '../segment/encoding/chunk-checksums.ts';
import { SegmentIndex } from '../segment/indexes/segment-index.ts';
import { SECTIONS } from '../segment/layout/columns.ts';
import { PART } from '../segment/layout/directory.ts';
import type { GroupEntry } from '../segment/layout/group-entry.ts';
import { openSegment } from '../segment/read/open-segment.ts';
import { namesAt, plainRegions, unitRegions } from '../segment/testing/plain-regions.ts';
import { replacePlain } from '../segment/testing/rewrite-segment.ts';
import { sampleBlock } from '../segment/testing/sample-block.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { openRangeFile, type RangeFile } from '../storage/range-file.ts';
import { Engine } from './engine.ts';
import { answerSegments } from './testing/answer-segments.ts';
import { parseTestQuery } from './testing/arbitrary-query.ts';
import { answerQuery } from './testing/reference/answer-query.ts';
import { EnginePool } from './threads/engine-pool.ts';

const blocks = simulatedBlocks({
  content: { profile: '2025', transactionsPerBlock: 230, epochRewardsPerBlock: 30 },
  firstSlot: 432_290,
  // A row group has at most 2,048 transactions, so these are two groups, also without the last block.
  blockCount: 11,
});
const bytes = buildSegment(blocks);
const segment = openSegment(bytes);
const { groups } = segment.directory;

function answer(engine: Engine, keys: readonly string[], query: Query): string {
  return Buffer.concat([...answerSegments(engine, keys, query)]).toString();
}

const slots = blocks.map(({ header }) => header.number as number);
const instructions = blocks.flatMap((block) => block.instructions);
const tokenBalances = blocks.flatMap((block) => block.tokenBalances);

/** Returns the values of a list, most frequent first. */
function byFrequency<Value extends string>(values: readonly (Value | null)[]): Value[] {
  const counts = new Map<Value, number>();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value);
}

const programs = byFrequency(instructions.map(({ programId }) => programId));
const accounts = byFrequency(instructions.flatMap((instruction) => instruction.accounts));
const owners = byFrequency(tokenBalances.map(({ postOwner }) => postOwner));
const mints = byFrequency(tokenBalances.map(({ preMint }) => preMint));
const d8Of = (instruction: Instruction) => discriminator(instruction.data, 8);
/** An instruction of a program that is not the most frequent one, whose data begins with a discriminator of 8 bytes. */
const swap = instructions.find(
  (own) => programs.indexOf(own.programId) >= 4 && d8Of(own) !== null,
) as Instruction;
const relations = {
  transaction: true,
  transactionTokenBalances: true,
  innerInstructions: true,
  logs: true,
};

const QUERIES: Readonly<Record<string, Omit<QueryBody, 'fromBlock'>>> = {
  'a program by d8 with related records': {
    instructions: [
      {
        programId: [swap.programId],
        d8: [d8Of(swap) as string],
        ...relations,
      },
    ],
  },
  'twelve groups': {
    instructions: programs
      .slice(0, 12)
      .map((programId) => ({ programId: [programId], ...relations })),
  },
  'an account at a position, and its callers': {
    instructions: [
      { a1: accounts.slice(0, 40), parentInstructions: true, transactionBalances: true },
    ],
  },
  'a rare account anywhere': {
    instructions: [{ mentionsAccount: accounts.slice(-1) }],
    transactions: [{ mentionsAccount: accounts.slice(-1), instructions: true }],
  },
  'token balances by owner and by mint': {
    tokenBalances: [
      { postOwner: owners.slice(0, 3), transaction: true },
      { preMint: mints.slice(1, 3) },
    ],
  },
  'fee payers': {
    transactions: [
      {
        feePayer: byFrequency(
          blocks.flatMap((b) => b.transactions.map((t) => t.accountKeys[0] ?? null)),
        ).slice(0, 3),
        logs: true,
      },
    ],
  },
  'rewards of some recipients': {
    rewards: [
      { pubkey: byFrequency(blocks.flatMap((b) => b.rewards.map((r) => r.pubKey))).slice(-5) },
    ],
  },
  'logs of a kind with their instruction': {
    logs: [{ kind: ['data'], instruction: true, transaction: true }],
  },
  'failed instructions': {
    instructions: [{ isCommitted: false, programId: programs.slice(0, 3), transaction: true }],
  },
  'headers of all blocks': { includeAllBlocks: true },
  'hashes of all blocks': { includeAllBlocks: true, fields: { block: { hash: true } } },
  'an address that does not occur': { transactions: [{ feePayer: [`${'1'.repeat(31)}3`] }] },
  everything: {
    transactions: [{ instructions: true, balances: true, tokenBalances: true, logs: true }],
    rewards: [{}],
  },
};

const queryOf = (name: string) => parseTestQuery({ fromBlock: 0, ...QUERIES[name] });
const answers = new Map<string, string>();
/** Returns the reference's answer over all blocks. It is slow, so it is computed once. */
function expectedOf(name: string): string {
  const known = answers.get(name) ?? answerQuery(queryOf(name), blocks);
  answers.set(name, known);
  return known;
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-segments-'));
const files: RangeFile[] = [];
afterAll(() => {
  for (const file of files) file.close();
  rmSync(folder, { recursive: true });
});

/** Opens a segment that is read by byte range, as the service reads sealed segments. */
function openFile(name: string, content: Uint8Array): RangeFile {
  const path = join(folder, name);
  writeFileSync(path, content);
  const file = openRangeFile(path);
  files.push(file);
  return file;
}

describe('a segment of several row groups', () => {
  const roomy = new Engine({ cacheBytesMax: 1 << 26 });
  const tight = new Engine({ cacheBytesMax: 1 });
  roomy.open('all', bytes);
  tight.open('all', openFile('all', bytes));

  test('behavior: the segment has several row groups', () => {
    expect(groups.length).toBeGreaterThan(1);
    expect(segment.partCount(PART.sectionDictionary)).toBeGreaterThan(3);
    for (const { pageTransactions } of groups) expect(pageTransactions).toBe(4);
    expect(blocks.some((block) => block.rewards.length > 1)).toBe(true);
  });

  test.each(Object.keys(QUERIES))(
    'behavior: %s: the same answer as the reference, with and without memory for the cache',
    (name) => {
      const query = queryOf(name);
      const expected = expectedOf(name);
      if (!/does not occur|headers/.test(name)) expect(expected.length).toBeGreaterThan(800);
      expect(answer(roomy, ['all'], query)).toBe(expected);
      expect(answer(roomy, ['all'], query)).toBe(expected);
      expect(answer(tight, ['all'], query)).toBe(expected);
    },
  );

  test('behavior: an engine that evicts its segments, from files and from memory, returns the same answers as the reference', () => {
    const parts = [blocks.slice(0, 10), blocks.slice(10)].map((part) => buildSegment(part));
    expect(openSegment(parts[0] as Uint8Array).directory.groups.length).toBeGreaterThan(1);
    const engine = new Engine({ cacheBytesMax: 1 });
    const keys = [0, 1].flatMap((part) => [`file ${part}`, `memory ${part}`]);
    for (const [part, content] of parts.entries()) {
      engine.open(`file ${part}`, openFile(`part ${part}`, content));
      engine.open(`memory ${part}`, content);
    }
    for (const name of ['a rare account anywhere', 'token balances by owner and by mint']) {
      for (const storage of ['file', 'memory']) {
        const chosenKeys = keys.filter((key) => key.startsWith(storage));
        for (let round = 0; round < 2; round++)
          expect(answer(engine, chosenKeys, queryOf(name)), `${name}, ${storage}`).toBe(
            expectedOf(name),
          );
      }
    }
  });

  test('behavior: the memory of a loaded index is counted, and freed when the index is released', () => {
    const index = new SegmentIndex(openSegment(openFile('index', bytes)));
    expect(index.byteLength).toBe(0);
    const id = index.find(decodeBase58(accounts[0] as string) as Uint8Array) as number;
    expect(index.transactions(id).length).toBeGreaterThan(100);
    const before = index.byteLength;
    expect(before).toBeGreaterThan(100_000);
    index.release();
    // Parts of a few kilobytes are left to the garbage collector.
    expect(index.byteLength).toBeLessThan(before / 4);
  });

  test('behavior: ranges may begin and end inside a row group, at its ends, and between blocks', () => {
    const second = groups[1]?.firstBlock as number;
    const edges = [0, 1, second - 1, second, second + 1, blocks.length - 1];
    for (const from of edges) {
      for (const to of edges.filter((edge) => edge >= from)) {
        const range = { fromBlock: slots[from] as number, toBlock: slots[to] as number };
        const query = parseTestQuery({
          ...range,
          ...QUERIES['a program by d8 with related records'],
        });
        expect(answer(tight, ['all'], query), `${from} to ${to}`).toBe(answerQuery(query, blocks));
      }
    }
    const beyond = parseTestQuery({
      fromBlock: (slots.at(-1) as number) + 1,
      includeAllBlocks: true,
    });
    expect(answer(tight, ['all'], beyond)).toBe('');
  });

  test('behavior: a line that comes in several pieces ends at the end of the last one', () => {
    const texts = [...roomy.run('all', queryOf('everything'))].map((piece) =>
      Buffer.from(piece).toString('latin1'),
    );
    const continued = texts.filter((_, i) => i > 0 && texts[i - 1]?.endsWith('\n') === false);
    expect(continued.length).toBeGreaterThan(1);
    for (const text of continued) expect([-1, text.length - 1]).toContain(text.indexOf('\n'));
  });

  test('behavior: three interleaved queries each get their own answer', () => {
    const names = ['everything', 'twelve groups', 'logs of a kind with their instruction'];
    for (const engine of [roomy, tight]) {
      const runs = names.map((name) => {
        const pieces = engine.run('all', queryOf(name), { endsCoverage: true });
        return { name, pieces, text: [] as Uint8Array[] };
      });
      let turns = 0;
      for (let open = runs.length; open > 0; turns++) {
        open = 0;
        for (const { pieces, text } of runs) {
          const next = pieces.next();
          if (next.done === true) continue;
          text.push(next.value);
          open++;
        }
      }
      expect(turns).toBeGreaterThan(5);
      for (const { name, text } of runs) {
        // Compared as a whole: a difference in megabytes of text takes a minute to print.
        expect(Buffer.concat(text).toString() === expectedOf(name), name).toBe(true);
      }
    }
  });

  test('behavior: an abandoned run frees its memory', () => {
    const query = queryOf('everything');
    answer(roomy, ['all'], query);
    const before = roomy.allocatedBytes;
    const run = roomy.run('all', query);
    run.next();
    expect(roomy.allocatedBytes).toBeGreaterThan(before);
    run.return({} as never);
    expect(roomy.allocatedBytes).toBe(before);
  });

  test('limit: cached segments stay near the memory limit, even if each is queried once', () => {
    const query = queryOf('a program by d8 with related records');
    const keys = Array.from({ length: 8 }, (_, copy) => `copy ${copy}`);
    const open = (cacheBytesMax: number) => {
      const engine = new Engine({ cacheBytesMax });
      for (const key of keys) engine.open(key, bytes);
      return { engine, empty: engine.allocatedBytes };
    };
    const roomy = open(1 << 30);
    answer(roomy.engine, keys.slice(0, 1), query);
    const one = roomy.engine.allocatedBytes - roomy.empty;
    answer(roomy.engine, keys.slice(1), query);
    const all = roomy.engine.allocatedBytes - roomy.empty;
    expect(all).toBeGreaterThan(7 * one);
    // The segment that is read last grows after the others were evicted for it.
    const narrow = open(3 * one);
    answer(narrow.engine, keys, query);
    expect(narrow.engine.allocatedBytes - narrow.empty).toBeLessThanOrEqual(4 * one);
  });
});

describe('records that are larger than the output buffer', () => {
  const large = (slot: number): Block => {
    const block = sampleBlock(slot);
    const [log] = block.logs;
    const message = (length: number) => `${'long "text"\n'.repeat(length / 12)}${slot}`;
    const logs = [0, 100, 3_000_000, 100, 1_040_000, 1_500_000].map((length, i) => ({
      ...(log as Block['logs'][number]),
      logIndex: i,
      message: message(length),
    }));
    return { ...block, logs };
  };

  test('behavior: large records are returned whole, with the text around them', () => {
    const all = [sampleBlock(4), large(5), large(6), sampleBlock(7)];
    const engine = new Engine({ cacheBytesMax: 1 << 26 });
    engine.open('large', buildSegment(all));
    const query = parseTestQuery({
      fromBlock: 0,
      logs: [{ instruction: true, transaction: true }],
      rewards: [{}],
    });
    const text = answer(engine, ['large'], query);
    expect(text.length).toBeGreaterThan(10_000_000);
    expect(text === answerQuery(query, all)).toBe(true);
  });
});

describe('a damaged segment', () => {
  const query = queryOf('everything');

  test('error: segment-damaged names the section; the segment can be closed and other segments still answer', () => {
    const engine = new Engine({ cacheBytesMax: 1 << 26 });
    engine.open('whole', bytes);
    const expected = answer(engine, ['whole'], query);
    const before = engine.allocatedBytes;
    const regions = plainRegions(segment);
    const sections = regions.filter(({ unit }) => unit.startsWith('group 1.'));
    expect(sections.length).toBeGreaterThan(9);
    for (const { unit, offset, length } of sections) {
      const at = offset + (length >> 1);
      expect(namesAt(regions, at)).toContain(damagedUnit(engine, flip([at]), query));
      expect(engine.allocatedBytes, unit).toBe(before);
    }
    expect(answer(engine, ['whole'], query)).toBe(expected);
  });

  test('error: a page with a valid checksum that cannot be decoded is named', () => {
    const engine = new Engine({ cacheBytesMax: 1 << 26 });
    const section = SECTIONS.indexOf('logs');
    const { offset } = (groups[1] as GroupEntry).sections[section] as { offset: number };
    const lengths = segment.readPageTable(1)[section] as Uint32Array;
    const page = lengths.findLastIndex((length) => length > 20);
    const start = offset + lengths.subarray(0, page).reduce((sum, length) => sum + length, 0);
    const plain = bytes.slice(0, segment.directory.plainBytes);
    plain.fill(0xff, start, start + 20);
    const forged = replacePlain(bytes, plain);
    const before = engine.allocatedBytes;
    expect(damagedUnit(engine, forged, query)).toBe(`group 1.logs page ${page}`);
    expect(engine.allocatedBytes).toBe(before);
  });

  test('error: segment-damaged in the chunks of an index frees all memory', () => {
    const engine = new Engine({ cacheBytesMax: 1 << 26 });
    engine.open('whole', bytes);
    const before = engine.allocatedBytes;
    const regions = plainRegions(segment).filter(({ unit }) => !unit.startsWith('group'));
    const otherRegions = regions.filter(({ unit }) => !unit.startsWith('signatureIndex'));
    expect(otherRegions.map(({ unit }) => unit)).toEqual([
      'keys 0',
      ...[0, 1, 2].map((array) => `addressIndex ${array}`),
    ]);
    for (const { unit, offset, length } of otherRegions) {
      const places = Array.from({ length: Math.ceil(length / chunkBytes) }, (_, chunk) =>
        Math.min(offset + chunk * chunkBytes, offset + length - 1),
      );
      const names = new Set(places.flatMap((at) => namesAt(regions, at)));
      const found = damagedUnit(engine, flip(places), queryOf('a rare account anywhere'));
      expect([...names], unit).toContain(found);
      expect(engine.allocatedBytes, unit).toBe(before);
    }
  });

  test.each([
    ['postings', 'a rare account anywhere'],
    ['classes', 'a program by d8 with related records'],
    ['sectionDictionary', 'everything'],
    ['checksums', 'everything'],
    ['blocks.number', 'headers of all blocks'],
    ['blocks.hash', 'hashes of all blocks'],
  ])('error: segment-damaged in %s frees all memory', (name, queryName) => {
    const engine = new Engine({ cacheBytesMax: 1 << 26 });
    engine.open('whole', bytes);
    const before = engine.allocatedBytes;
    const regions = unitRegions(segment).filter(({ unit }) => unit.startsWith(name));
    expect(regions.length).toBeGreaterThan(0);
    const damaged = flip(regions.map(({ offset }) => offset));
    expect(damagedUnit(engine, damaged, queryOf(queryName))).toMatch(new RegExp(`^${name}`));
    expect(engine.allocatedBytes).toBe(before);
  });

  function flip(places: readonly number[]): Uint8Array {
    const damaged = bytes.slice();
    for (const at of places) damaged[at] = (damaged[at] as number) ^ 0x40;
    return damaged;
  }

  /** Returns the name of the damaged unit. The segment is closed again. */
  function damagedUnit(engine: Engine, damaged: Uint8Array, query: Query): string {
    engine.open('damaged', damaged);
    try {
      answer(engine, ['damaged'], query);
      return 'nothing';
    } catch (error) {
      if (!isCodedError(error, 'segment-damaged')) throw error;
      return String(error.detail['unit']);
    } finally {
      engine.close('damaged');
    }
  }
});

describe('a cancelled run', () => {
  const keys = Array.from({ length: 80 }, (_, copy) => `copy ${copy}`);
  const range = { first: 0, last: Infinity };
  // Nothing is cached, so every row group is read, inflated and written again. This keeps the thread busy for the longest possible time.
  const pool = new EnginePool({ threadCount: 1, cacheBytesMax: 1 });
  for (const key of keys) pool.open(key, { kind: 'memory', bytes });
  afterAll(() => pool.stop());
  const first = { first: slots[0] as number, last: slots[0] as number };

  async function cancelledAfter(pieceCount: number): Promise<number> {
    let taken = 0;
    for await (const piece of pool.run({ selection: queryOf('everything'), range, keys })) {
      expect(piece.bytes.length).toBeGreaterThan(0);
      if (++taken === pieceCount) break;
    }
    const start = process.cpuUsage();
    const next = pool.run({
      selection: queryOf('headers of all blocks'),
      range: first,
      keys: ['copy 0'],
    });
    for await (const piece of next) expect(piece.bytes.length).toBeGreaterThan(0);
    return spentMicroseconds(start);
  }

  /** Reads copies of the segment to the end, without cancelling. */
  async function readWholly(copies: readonly string[]): Promise<number> {
    const start = process.cpuUsage();
    const run = pool.run({ selection: queryOf('everything'), range, keys: copies });
    for await (const piece of run) piece.release();
    return spentMicroseconds(start);
  }

  /** Returns the processor time of all threads since `start`, which does not depend on the load of the machine. */
  function spentMicroseconds(start: NodeJS.CpuUsage): number {
    const { user, system } = process.cpuUsage(start);
    return user + system;
  }

  test('behavior: a cancelled run ends immediately: its segments are closed before another run has read one segment', async () => {
    let isClosed = false;
    pool.open('last', { kind: 'memory', bytes }, () => {
      isClosed = true;
    });
    const all = { selection: queryOf('everything'), range, keys: [...keys, 'last'] };
    for await (const piece of pool.run(all)) {
      expect(piece.bytes.length).toBeGreaterThan(0);
      break;
    }
    pool.close('last');
    await readWholly(['copy 0']);
    expect(isClosed).toBe(true);
  });

  test('limit: the thread of a cancelled run answers the next query long before it could have read four of the eighty segments', async () => {
    const delays: number[] = [];
    const wholes: number[] = [];
    for (let pieceCount = 1; pieceCount <= 9; pieceCount++) {
      delays.push(await cancelledAfter(pieceCount));
      wholes.push(await readWholly(keys.slice(0, 4)));
    }
    // Both times were measured in the same second, so the load of the machine affects both equally.
    expect(median(delays)).toBeLessThan(median(wholes) * 0.6);
  }, 30_000);
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}
