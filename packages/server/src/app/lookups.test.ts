/**
 * Lookups over HTTP: a service, a dataset that follows a simulated ledger through a fork, sealed segments and hot blocks,
 * compared with a scan over all decoded records.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Block, Transaction } from '@sluice/ledger/block';
import type { Activity, Coverage, Estimate, RecordCount } from '@sluice/protocol/lookup-results';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { answerBlock } from '../engine/testing/reference/answer-query.ts';
import { isCaughtUp, startWorld, type World } from '../ingest/testing/start-world.ts';
import { nodeFs } from '../storage/node-fs.ts';
import {
  LISTED_TRANSACTION,
  STORED_BLOCK,
  WHOLE_BLOCK,
  WHOLE_TRANSACTION,
} from '../stream/lookups/selections.ts';
import { sumHashes } from '../stream/testing/sum-hashes.ts';
import {
  countBy,
  discriminatorsOf,
  expectLine,
  mintsOf,
  namesOf,
  onlyTransaction,
  readAllBlocks,
} from './testing/scan-records.ts';
import { type Portal, startPortal } from './testing/start-portal.ts';

const sealBlockCount = 16;
const folder = mkdtempSync(join(tmpdir(), 'sluice-lookups-'));
let world: World;
let portal: Portal;
let snapshot: ChainSnapshot;
let blocks: Block[];
/** Each transaction as a block of its own, ascending. */
let transactions: Block[];
let orphans: Transaction[];

beforeAll(async () => {
  world = await startWorld({
    ledger: {
      chain: { startSlot: 80, skipRate: 0.15 },
      content: { transactionsPerBlock: 8, votes: 1 },
    },
    fs: nodeFs,
    folder: join(folder, 'ledger'),
    limits: { sealBlockCount, diskFloorBytes: 0, diskFloorShare: 0 },
  });
  const { following, node } = world;
  await world.caughtUp();
  await world.produce(2);
  const before = await readAllBlocks(following.dataset, await world.caughtUp());
  node.faults.set({ kind: 'fork', depth: 4, forSlots: 1_000 });
  world.leap(3);
  await following.until('the fork is followed', isCaughtUp(node));
  snapshot = await following.until(
    'everything final is sealed',
    ({ segments, hot, finalized }) =>
      segments.length >= 2 &&
      finalized?.number === node.state().finalizedSlot &&
      hot.filter(({ header }) => header.number <= finalized.number).length < sealBlockCount,
  );
  blocks = await readAllBlocks(following.dataset, snapshot);
  transactions = blocks.flatMap((block) =>
    block.transactions.map((transaction) => onlyTransaction(block, transaction)),
  );
  const stored = new Set(transactions.flatMap((one) => one.transactions[0]?.signatures ?? []));
  orphans = before
    .flatMap((block) => block.transactions)
    .filter(({ signatures }) => !signatures.some((signature) => stored.has(signature)));
  portal = await startPortal(following.dataset);
}, 60_000);

afterAll(async () => {
  await portal.close();
  await world.close();
  rmSync(folder, { recursive: true });
});

async function get(path: string, init?: RequestInit) {
  const response = await fetch(`${portal.url}${path}`, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function codeOf(path: string, init?: RequestInit): Promise<[number, string, string?]> {
  const { status, text } = await get(path, init);
  const { error } = JSON.parse(text) as { error: { code: string; path?: string } };
  return error.path === undefined ? [status, error.code] : [status, error.code, error.path];
}

function blockAt(slot: number): Block {
  return blocks.find(({ header }) => header.number === slot) as Block;
}

const lineOf = (records: Block, selection = WHOLE_TRANSACTION) => {
  const { finalized } = snapshot;
  return expectLine(selection, records, { block: blockAt(records.header.number), finalized });
};

test('default: the test has two segments, hot blocks, skipped slots and a fork', () => {
  expect(snapshot.segments.length).toBeGreaterThanOrEqual(2);
  expect(snapshot.hot.length).toBeGreaterThan(4);
  expect(orphans.length).toBeGreaterThan(0);
  expect(blocks.length).toBeLessThan((snapshot.head?.number ?? 0) - 1);
});

describe('blocks', () => {
  test('default: a block, sealed or hot, is the line of the reference with all fields', async () => {
    for (const block of blocks.filter((_, i) => i % 3 === 0)) {
      const { status, text } = await get(`/blocks/${block.header.number}`);
      expect(status).toBe(200);
      expect(text).toBe(lineOf(block, WHOLE_BLOCK));
    }
  });

  test('behavior: the head headers describe the state from which the answer was made', async () => {
    const { headers } = await get(`/blocks/${blocks[0]?.header.number}`);
    expect(headers.get('x-ledger-head-number')).toBe(String(snapshot.head?.number));
    expect(headers.get('x-ledger-finalized-head-hash')).toBe(snapshot.finalized?.hash);
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(headers.get('vary')).toBe('Accept-Encoding');
  });

  test('error: slot-skipped, slot-above-head', async () => {
    const slots = new Set<number>(blocks.map(({ header }) => header.number));
    const skipped = Array.from({ length: snapshot.head?.number ?? 0 }, (_, i) => i).find(
      (slot) => !slots.has(slot),
    );
    expect(await codeOf(`/blocks/${skipped}`)).toEqual([404, 'slot-skipped']);
    expect(await codeOf('/blocks/999999999999999999999')).toEqual([404, 'slot-above-head']);
  });

  test.each(['1.5', '-1', 'x', '0x10'])(
    'error: parameter-invalid for the slot %s',
    async (slot) => {
      expect(await codeOf(`/blocks/${slot}`)).toEqual([400, 'parameter-invalid', 'slot']);
    },
  );
});

describe('transactions', () => {
  test('default: every signature of a transaction, sealed or hot, finds the transaction with only its records', async () => {
    for (const records of transactions.filter((_, i) => i % 5 === 0)) {
      for (const signature of records.transactions[0]?.signatures ?? []) {
        const { status, text } = await get(`/transactions/${signature}`);
        expect([status, text]).toEqual([200, lineOf(records)]);
      }
    }
  });

  test('error: transaction-unknown for a signature that no block has, or only a replaced block', async () => {
    const [known] = transactions[0]?.transactions[0]?.signatures ?? [];
    const unknown = `${known?.slice(0, -1)}${known?.endsWith('2') ? '3' : '2'}`;
    const answer = [404, 'transaction-unknown', 'signature'];
    expect(await codeOf(`/transactions/${unknown}`)).toEqual(answer);
    for (const { signatures } of orphans)
      expect(await codeOf(`/transactions/${signatures[0]}`)).toEqual(answer);
  });

  test('error: parameter-invalid for a text that is not a signature, and for an unknown parameter', async () => {
    const [known] = transactions[0]?.transactions[0]?.signatures ?? [];
    const invalid = [400, 'parameter-invalid', 'signature'];
    expect(await codeOf('/transactions/abc')).toEqual(invalid);
    expect(await codeOf(`/transactions/${'z'.repeat(88)}`)).toEqual(invalid);
    expect(await codeOf(`/transactions/${known}?full=1`)).toEqual([
      400,
      'parameter-invalid',
      'full',
    ]);
  });
});

describe('transactions of an account', () => {
  interface Page {
    readonly transactions: unknown[];
    readonly next: string | null;
  }

  const mentions = (address: string) =>
    transactions.filter((records) => namesOf(records).has(address)).reverse();

  const listed = (records: Block) =>
    JSON.parse(lineOf({ ...records, logs: [] }, LISTED_TRANSACTION)) as unknown;

  async function walk(address: string, limit: number): Promise<unknown[]> {
    const all: unknown[] = [];
    for (let before = ''; ; ) {
      const query = before === '' ? '' : `&before=${before}`;
      const { text } = await get(`/accounts/${address}/transactions?limit=${limit}${query}`);
      const page = JSON.parse(text) as Page;
      expect(page.transactions.length).toBeLessThanOrEqual(limit);
      all.push(...page.transactions);
      if (page.next === null) return all;
      before = page.next;
    }
  }

  test('default: paging backwards lists all transactions that name the address, newest first', async () => {
    const counted = countBy(transactions, namesOf);
    const [busiest = ''] = counted[0] ?? [];
    expect(await walk(busiest, 40)).toEqual(mentions(busiest).map(listed));
    const rare = counted.filter(([, count]) => count > 3 && count < 9).slice(0, 3);
    for (const [address, count] of rare) {
      const expected = mentions(address).map(listed);
      expect(expected).toHaveLength(count);
      expect(await walk(address, 2)).toEqual(expected);
    }
  });

  test('behavior: a slot as before lists only transactions of lower slots', async () => {
    const [[address = ''] = []] = countBy(transactions, namesOf);
    const slot = transactions[Math.floor(transactions.length / 2)]?.header.number ?? 0;
    const expected = mentions(address).filter(({ header }) => header.number < slot);
    const { text } = await get(`/accounts/${address}/transactions?before=${slot}&limit=5`);
    expect((JSON.parse(text) as Page).transactions).toEqual(expected.slice(0, 5).map(listed));
  });

  test('default: an address that no transaction names has an empty list', async () => {
    const { text } = await get(
      '/accounts/SysvarNothing111111111111111111111111111111/transactions',
    );
    expect(JSON.parse(text)).toEqual({ transactions: [], next: null });
  });

  test.each([
    ['abc', '', 'address'],
    ['11111111111111111111111111111111', '?limit=101', 'limit'],
    ['11111111111111111111111111111111', '?limit=0', 'limit'],
    ['11111111111111111111111111111111', '?before=x', 'before'],
    ['11111111111111111111111111111111', '?before=1&before=2', 'before'],
  ])('error: parameter-invalid for %s%s', async (address, query, path) => {
    const answer = [400, 'parameter-invalid', path];
    expect(await codeOf(`/accounts/${address}/transactions${query}`)).toEqual(answer);
  });
});

describe('activity', () => {
  function expectActivity(activity: Activity, first: number, last: number): void {
    const inRange = ({ header }: Block) => header.number >= first && header.number <= last;
    const counted = transactions.filter(inRange);
    expect(activity.blocks).toBe(blocks.filter(inRange).length);
    expect(activity.transactions).toBe(counted.length);
    const top = (list: (records: Block) => Iterable<string>) =>
      countBy(counted, list).slice(0, 100);
    const { programs, discriminators, mints, accounts } = activity;
    expect(programs.map((row) => [row.programId, row.transactions])).toEqual(
      top(({ instructions }) => instructions.map(({ programId }) => programId)),
    );
    expect(
      discriminators.map((row) => [
        `${row.programId} ${row.discriminator.slice(2)}`,
        row.transactions,
      ]),
    ).toEqual(top(discriminatorsOf));
    expect(mints.map((row) => [row.mint, row.transactions])).toEqual(
      countBy(counted, (records) => {
        const names = namesOf(records);
        return allMints.filter((mint) => names.has(mint));
      })
        .filter(([mint]) => counted.some((records) => mintsOf(records).includes(mint)))
        .slice(0, 100),
    );
    const accountsOf = (records: Block) =>
      [...namesOf(records)].filter((name) => !hashes.has(name));
    expect(accounts.map((row) => [row.account, row.transactions])).toEqual(top(accountsOf));
  }

  let allMints: string[];
  let hashes: Set<string>;
  beforeAll(() => {
    hashes = new Set(blocks.map(({ header }) => header.hash));
    allMints = [...new Set(transactions.flatMap(mintsOf))];
  });

  async function activityOf(query: string): Promise<Activity> {
    const { status, text } = await get(`/activity${query}`);
    expect(status).toBe(200);
    return JSON.parse(text) as Activity;
  }

  test('default: the activity of the whole dataset equals a scan over all records', async () => {
    const activity = await activityOf('?limit=100');
    const { fromBlock, toBlock, isComplete } = activity;
    expect([fromBlock, toBlock, isComplete]).toEqual([0, snapshot.head?.number, true]);
    expectActivity(activity, 0, Infinity);
  });

  test('behavior: a range may end inside a segment or span segments and hot blocks', async () => {
    const [segment] = snapshot.segments;
    const inside = (segment?.first.number ?? 0) + 5;
    const cut = await activityOf(`?from=${inside}&to=${inside + 6}&limit=100`);
    expectActivity(cut, inside, inside + 6);
    const border = snapshot.hot[0]?.header.number ?? 0;
    const across = await activityOf(`?from=${border - 6}&to=${border + 6}&limit=100`);
    expectActivity(across, border - 6, border + 6);
  });

  test('limit: lists have at most the requested number of entries', async () => {
    const { programs, accounts } = await activityOf('?limit=3');
    expect([programs.length, accounts.length]).toEqual([3, 3]);
  });

  test('default: a range above the head is empty', async () => {
    const { blocks, programs } = await activityOf('?from=999999');
    expect([blocks, programs]).toEqual([0, []]);
  });

  test.each([
    ['?from=9&to=8', 'to'],
    ['?form=9', 'form'],
    ['?limit=x', 'limit'],
  ])('error: parameter-invalid for %s', async (query, path) => {
    expect(await codeOf(`/activity${query}`)).toEqual([400, 'parameter-invalid', path]);
  });
});

const post = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

describe('coverage', () => {
  const coverageOf = async (query: string): Promise<Coverage> => {
    const { status, text } = await get(`/coverage${query}`);
    expect(status).toBe(200);
    return JSON.parse(text) as Coverage;
  };
  /** The state of each slot, from the decoded blocks. */
  function expectedState(slot: number): string {
    const finalized = snapshot.finalized?.number ?? -1;
    if (slot < (snapshot.start ?? 0) || slot > (snapshot.head?.number ?? -1)) return 'missing';
    const block = blocks.find(({ header }) => header.number >= slot);
    if ((block?.header.number ?? Infinity) > finalized) return 'notFinal';
    return block?.header.number === slot ? 'stored' : 'skipped';
  }
  const statesOf = ({ ranges }: Coverage) =>
    ranges.flatMap(({ from, to, state }) =>
      Array.from({ length: to - from + 1 }, (_, i) => [from + i, state] as const),
    );

  test.each([
    ['', 0, undefined],
    ['?from=0&to=200', 0, 200],
    ['?from=70&to=75', 70, 75],
    ['?from=1000&to=1003', 1_000, 1_003],
  ])('default: every slot has one state with a reason: %s', async (query, first, last) => {
    const coverage = await coverageOf(query);
    const end = last ?? snapshot.head?.number ?? 0;
    const from = last === undefined ? (snapshot.start ?? 0) : first;
    const slots = Array.from({ length: end - from + 1 }, (_, i) => from + i);
    expect(statesOf(coverage)).toEqual(slots.map((slot) => [slot, expectedState(slot)]));
    expect(coverage).toMatchObject({ fromBlock: from, toBlock: end, isComplete: true });
    const sum = Object.values(coverage.slots).reduce((total, count) => total + count, 0);
    expect(sum).toBe(slots.length);
  });

  test('error: parameter-invalid for a range that ends before it begins', async () => {
    expect(await codeOf('/coverage?from=9&to=8')).toEqual([400, 'parameter-invalid', 'to']);
  });
});

describe('digest', () => {
  test('default: without a range, the digest adds the hashes of all final lines', async () => {
    const finalized = snapshot.finalized?.number ?? -1;
    const final = blocks.filter(({ header }) => header.number <= finalized);
    const { text } = await get('/digest');
    const digest = sumHashes(final.map((block) => answerBlock(STORED_BLOCK, block) ?? ''));
    const expected = { version: 1, isComplete: true, blocks: final.length, digest };
    expect(JSON.parse(text)).toMatchObject({ ...expected, toBlock: finalized });
  });

  test('error: parameter-invalid for a range that ends before it begins', async () => {
    expect(await codeOf('/digest?from=9&to=8')).toEqual([400, 'parameter-invalid', 'to']);
  });
});

describe('count', () => {
  async function countOf(body: object): Promise<RecordCount> {
    const { status, text } = await get('/count', post(body));
    expect(status).toBe(200);
    return JSON.parse(text) as RecordCount;
  }

  test('default: the records of sealed and hot blocks are counted exactly', async () => {
    const [rare] = countBy(transactions, namesOf).findLast(([, count]) => count > 1) ?? [];
    const matching = transactions.filter((records) => namesOf(records).has(rare ?? ''));
    const slots = matching.map(({ header }) => header.number);
    const counted = await countOf({ fromBlock: 0, transactions: [{ mentionsAccount: [rare] }] });
    expect(counted).toEqual({
      fromBlock: 0,
      toBlock: snapshot.head?.number,
      isComplete: true,
      blocks: new Set(slots).size,
      transactions: matching.length,
      ...{ instructions: 0, logs: 0, balances: 0, tokenBalances: 0, rewards: 0 },
      firstBlock: slots[0],
      lastBlock: slots.at(-1),
    });
    const toBlock = snapshot.segments[0]?.last.number;
    const all = await countOf({ fromBlock: 0, toBlock, instructions: [{ transaction: true }] });
    const below = blocks.filter(({ header }) => header.number <= (toBlock ?? 0));
    const sum = (of: (block: Block) => number) => below.reduce((n, block) => n + of(block), 0);
    expect(all).toMatchObject({
      toBlock,
      transactions: sum((block) => block.transactions.length),
      instructions: sum((block) => block.instructions.length),
    });
  });

  test('behavior: a range without a match has no records, and one above the head is refused', async () => {
    const programId = ['SysvarNothing111111111111111111111111111111'];
    const none = { blocks: 0, instructions: 0, firstBlock: null, lastBlock: null };
    expect(await countOf({ fromBlock: 0, instructions: [{ programId }] })).toMatchObject(none);
    const above = post({ fromBlock: (snapshot.head?.number ?? 0) + 1, instructions: [{}] });
    expect(await codeOf('/count', above)).toEqual([404, 'slot-above-head']);
  });

  test('error: an invalid query is refused with the same error as for a stream', async () => {
    expect(await codeOf('/count', post({}))).toEqual([400, 'query-key-missing', 'fromBlock']);
    expect(await codeOf('/count')).toEqual([405, 'method-wrong']);
  });
});

describe('estimate', () => {
  async function estimate(body: object): Promise<Estimate> {
    const { status, text } = await get('/estimate', post(body));
    expect(status).toBe(200);
    return JSON.parse(text) as Estimate;
  }

  test('default: a query for one address examines the transactions that name it, and few bytes', async () => {
    const [rare] = countBy(transactions, namesOf).findLast(([, count]) => count > 1) ?? [];
    const found = transactions.filter((records) => namesOf(records).has(rare ?? ''));
    const one = await estimate({ fromBlock: 0, transactions: [{ mentionsAccount: [rare] }] });
    const all = await estimate({ fromBlock: 0, transactions: [{}] });
    const places = snapshot.segments.length + snapshot.hot.length;
    expect(one.transactions).toEqual({ total: transactions.length, toExamine: found.length });
    expect(one.blocks.withCandidates).toBe(new Set(found.map(({ header }) => header.number)).size);
    expect(one.segments).toMatchObject({ total: places, examined: places });
    expect(one.isSampled).toBe(false);
    expect(all.transactions.toExamine).toBe(transactions.length);
    expect(all.blocks.total).toBe(blocks.length);
    expect(one.bytesToRead).toBeGreaterThan(0);
    expect(one.bytesToRead).toBeLessThan(all.bytesToRead);
  });

  test('behavior: a part of a segment counts its own blocks and transactions', async () => {
    const first = (snapshot.segments[0]?.first.number ?? 0) + 3;
    const range = { fromBlock: first, toBlock: first + 4 };
    const { blocks: counted, transactions: examined } = await estimate({
      ...range,
      instructions: [{}],
    });
    const inRange = ({ header }: Block) => header.number >= first && header.number <= first + 4;
    expect(counted.total).toBe(blocks.filter(inRange).length);
    expect(examined.toExamine).toBe(transactions.filter(inRange).length);
  });

  test('default: a query for an unknown address reads nothing', async () => {
    const programId = ['SysvarNothing111111111111111111111111111111'];
    const { segments, bytesToRead } = await estimate({
      fromBlock: 0,
      instructions: [{ programId }],
    });
    expect([segments.withCandidates, bytesToRead]).toEqual([0, 0]);
  });

  test('error: an invalid query is refused with the same error as for a stream', async () => {
    expect(await codeOf('/estimate', post({}))).toEqual([400, 'query-key-missing', 'fromBlock']);
    const { status } = await get('/estimate', { method: 'POST', body: '{}' });
    expect(status).toBe(415);
    expect(await codeOf('/estimate')).toEqual([405, 'method-wrong']);
  });
});
