/**
 * Transactions of real programs are executed here and become blocks in the form of a node's response. The records of these blocks must
 * describe what was executed. First the tests prove that the transactions ran as planned, then they compare the records with the plans.
 */
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Address } from '@solana/kit';
import { describe, expect, test } from 'vitest';
import type { Block } from '../../packages/ledger/src/block.ts';
import type { Slot } from '../../packages/ledger/src/primitives.ts';
import { normalizeBlock } from '../../packages/source/src/normalize/normalize-block.ts';
import { newCounts } from '../../packages/source/src/normalize/normalize-counts.ts';
import { accountsOf } from '../scenarios/planned-transaction.ts';
import { SCENARIOS } from '../scenarios/scenarios.ts';
import { World } from '../scenarios/world.ts';
import { Bank, type ExecutedTransaction } from './bank.ts';
import { buildNodeBlock } from './build-node-block.ts';
import { type ExpectedRecords, expectRecords } from './expected-records.ts';
import { type LiteSvmModule, loadLiteSvm } from './load-litesvm.ts';
import { toNodeError } from './node-error.ts';
import { toBase58 } from './to-base58.ts';
import { type Trace, traceCalls } from './trace-calls.ts';

const NATIVE_CALL_UNITS = 150n;

const litesvm = await loadLiteSvm();
const executed = typeof litesvm === 'string' ? [] : await executeScenarios(litesvm);
const cases = executed.map((transaction): [string, ExecutedTransaction] => [
  transaction.plan.title,
  transaction,
]);

const missing = typeof litesvm === 'string' ? litesvm : '';
if (missing) process.stderr.write(`authentic transactions are skipped: ${missing}\n`);

describe.skipIf(missing)('the planned transactions ran as planned', () => {
  test.each(cases)('default: the plan was executed: %s', (_, transaction) => {
    const trace = traceCalls(transaction.plan, transaction.wholeLog);
    expect(readInnerCalls(transaction)).toEqual(planInnerCalls(trace));
    expect(showError(transaction)).toBe(transaction.plan.err);
    expect(transaction.meta.logs()).toEqual(truncateLog(transaction.wholeLog));
    expect(isCut(transaction)).toBe(transaction.plan.overflows === true);
    expect(sumLamports(transaction, 'before') - sumLamports(transaction, 'after')).toBe(
      transaction.fee,
    );
    if (transaction.plan.err === undefined)
      expect(transaction.meta.computeUnitsConsumed()).toBe(sumUnits(trace));
  });
});

/** Executes everything in one bank, one after another: the same transactions with the same results every time. */
async function executeScenarios(litesvm: LiteSvmModule): Promise<ExecutedTransaction[]> {
  const bank = new Bank(litesvm);
  const world = await World.open(bank);
  const executed: ExecutedTransaction[] = [];
  for (const scenario of SCENARIOS) executed.push(await bank.execute(await scenario(world)));
  return executed;
}

const LOG_BYTES_MAX = 10_000;

/**
 * Returns the log as the runtime truncates it: a line that does not fit is dropped, and later lines are kept if they still fit. The
 * first dropped line is replaced by "Log truncated".
 */
function truncateLog(lines: readonly string[]): string[] {
  const kept: string[] = [];
  let bytes = 0;
  let marked = false;
  for (const line of lines) {
    const bytesWith = bytes + Buffer.byteLength(line);
    if (bytesWith < LOG_BYTES_MAX) {
      kept.push(line);
      bytes = bytesWith;
    } else if (!marked) {
      kept.push('Log truncated');
      marked = true;
    }
  }
  return kept;
}

const SLOT = 400_000_003 as Slot;
const PLACE = {
  blockhash: 'CmpNeggWJ4JaWJeJ8YKN1Zypmk7uvQq3PECGUCAEMbky',
  previousBlockhash: 'SysvarS1otHashes111111111111111111111111111',
  parentSlot: 400_000_001,
  blockHeight: 378_000_000,
  blockTime: 1_775_000_000,
  rewards: [
    {
      pubkey: 'Stake11111111111111111111111111111111111111',
      lamports: 2n ** 53n + 5n,
      postBalance: 2n ** 64n - 1n,
      rewardType: 'Fee',
      commission: null,
    },
  ],
};
const DATA = '../shared/data/chain-node-3.1.5.jsonl.gz';
// Properties that no transaction of the real blocks has: version 1, return data, readonly lookups, other errors.
const FORMS_NOT_IN_DATA =
  /\.(transactionConfig|returnData|loadedAddresses\.readonly|addressTableLookups\[\]\.readonlyIndexes|err|Err)\b/;
const VOTE_TITLE = 'a vote, failed';

const isVote = ({ plan }: ExecutedTransaction): boolean => plan.title === VOTE_TITLE;
const isCut = (transaction: ExecutedTransaction): boolean => findMark(transaction) !== null;

describe.skipIf(missing)('a block of executed transactions', () => {
  const bytes = buildNodeBlock(PLACE, executed);
  const { block, counts } = normalizeBlock(SLOT, bytes);

  test.each(cases.filter(([, transaction]) => !isVote(transaction)))(
    'default: the records are those of the plan: %s',
    (_, transaction) => {
      expect(selectRecords(block, executed.indexOf(transaction))).toEqual(expectOne(transaction));
    },
  );

  test('default: the header and the rewards are as expected', () => {
    expect(block.header).toEqual({
      number: SLOT,
      hash: PLACE.blockhash,
      parentSlot: PLACE.parentSlot,
      parentHash: PLACE.previousBlockhash,
      height: PLACE.blockHeight,
      timestamp: BigInt(PLACE.blockTime),
    });
    const [{ pubkey, ...reward }] = PLACE.rewards as [(typeof PLACE.rewards)[0]];
    expect(block.rewards).toEqual([{ pubKey: pubkey, ...reward }]);
  });

  test('behavior: only the vote and the truncated logs are counted', () => {
    const truncatedLogs = executed.filter(({ plan }) => plan.overflows).length;
    expect(counts).toEqual({ ...newCounts(), votesDropped: 1, truncatedLogs });
  });

  test('limit: the truncation of a log falls on every kind of line', () => {
    const lost = executed
      .filter(isCut)
      .map((transaction) => transaction.wholeLog[findMark(transaction) ?? 0] ?? '');
    const classes = /^Program (?:log|data|return)|(?:invoke|consumed|success|failed)/;
    expect(new Set(lost.map((line) => classes.exec(line)?.[0]))).toEqual(
      new Set([
        'Program log',
        'Program data',
        'Program return',
        'invoke',
        'consumed',
        'success',
        'failed',
      ]),
    );
  });

  test('property: executing everything again gives the same bytes', async () => {
    const again = await executeScenarios(litesvm as LiteSvmModule);
    expect(Buffer.compare(buildNodeBlock(PLACE, again), bytes)).toBe(0);
  });

  const realBlocks = readRealBlocks();
  test.skipIf(!realBlocks)(
    `behavior: it has the form of a real node's blocks${realBlocks ? '' : ` (skipped: no ${DATA})`}`,
    () => {
      const real = collectForms(realBlocks ?? []);
      const built = collectForms([JSON.parse(new TextDecoder().decode(bytes))]);
      const strange = [...built].filter((form) => !real.has(form) && !FORMS_NOT_IN_DATA.test(form));
      expect(strange).toEqual([]);
    },
  );

  test('behavior: a vote leaves a gap, or stays if votes are kept', () => {
    const index = executed.findIndex(isVote);
    expect(selectRecords(block, index)).toEqual({
      transaction: undefined,
      instructions: [],
      logs: [],
      balances: [],
      tokenBalances: [],
    });
    const kept = normalizeBlock(SLOT, bytes, { votes: 'keep' });
    const vote = executed[index] as ExecutedTransaction;
    expect(selectRecords(kept.block, index)).toEqual(expectOne(vote));
  });

  test('behavior: without recorded heights a complete log gives the same records', () => {
    const flat = normalizeBlock(SLOT, buildNodeBlock(PLACE, executed, { stackHeights: true }));
    expect(flat.counts.degraded).toEqual({});
    for (const transaction of executed.filter(
      (transaction) => !isVote(transaction) && !isCut(transaction),
    )) {
      const records = selectRecords(flat.block, executed.indexOf(transaction));
      expect(records, transaction.plan.title).toEqual(expectOne(transaction));
    }
  });

  test('behavior: without logs the recorded heights give the same addresses', () => {
    const mute = buildNodeBlock(PLACE, executed, { logs: true });
    const { block } = normalizeBlock(SLOT, mute, { allowMissing: ['logs'] });
    for (const transaction of executed.filter((transaction) => !isVote(transaction))) {
      const expected = expectOne(transaction);
      const records = selectRecords(block, executed.indexOf(transaction));
      const addressesOf = (of: Pick<ExpectedRecords, 'instructions'>): unknown[] =>
        of.instructions.map(({ instructionAddress, programId }) => [instructionAddress, programId]);
      expect(addressesOf(records), transaction.plan.title).toEqual(addressesOf(expected));
      expect(records.logs).toEqual([]);
      expect(records.balances).toEqual(expected.balances);
      expect(records.tokenBalances).toEqual(expected.tokenBalances);
    }
  });
});

function readRealBlocks(): unknown[] | undefined {
  const path = new URL(`../../${DATA}`, import.meta.url);
  if (!existsSync(path)) return undefined;
  const lines = gunzipSync(readFileSync(path)).toString().trim().split('\n');
  return lines.map((line) => JSON.parse(line).block);
}

/** The types at each path: `.transactions[].meta.fee: number`. */
function collectForms(values: readonly unknown[]): ReadonlySet<string> {
  const forms = new Set<string>();
  const collect = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      for (const item of value) collect(item, `${path}[]`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) collect(member, `${path}.${key}`);
    } else {
      forms.add(`${path}: ${value === null ? 'null' : typeof value}`);
    }
  };
  for (const value of values) collect(value, '');
  return forms;
}

function expectOne(transaction: ExecutedTransaction): ExpectedRecords {
  const trace = traceCalls(transaction.plan, transaction.wholeLog);
  const position = {
    transactionIndex: executed.indexOf(transaction),
    markLine: findMark(transaction),
  };
  return expectRecords(transaction, trace, position);
}

/** Returns the first line that the runtime's limit removed. */
function findMark({ meta, wholeLog }: ExecutedTransaction): number | null {
  const logs = meta.logs();
  const line = wholeLog.findIndex((text, i) => logs[i] !== text);
  return line === -1 ? null : line;
}

function selectRecords(block: Block, transactionIndex: number) {
  const isOfOne = (record: { readonly transactionIndex: number }): boolean =>
    record.transactionIndex === transactionIndex;
  return {
    transaction: block.transactions.find(isOfOne),
    instructions: block.instructions.filter(isOfOne),
    logs: block.logs.filter(isOfOne),
    balances: block.balances.filter(isOfOne),
    tokenBalances: block.tokenBalances.filter(isOfOne),
  };
}

/** Returns the calls as LiteSVM recorded them. */
function readInnerCalls({ meta, keys }: ExecutedTransaction): unknown[] {
  return meta.innerInstructions().flatMap((group, index) =>
    group.map((inner) => {
      const instruction = inner.instruction();
      return {
        index,
        height: inner.stackHeight(),
        program: keys[instruction.programIdIndex()],
        accounts: [...instruction.accounts()].map((key) => keys[key]),
        data: toBase58(instruction.data()),
      };
    }),
  );
}

function planInnerCalls(trace: Trace): unknown[] {
  return trace.calls
    .filter(({ address }) => address.length > 1)
    .map(({ address, call: { instruction } }) => ({
      index: address[0],
      height: address.length,
      program: instruction.programAddress,
      accounts: accountsOf(instruction),
      data: toBase58(instruction.data),
    }));
}

function showError({ result }: ExecutedTransaction): string | undefined {
  const error = toNodeError(result);
  if (error === null) return undefined;
  return JSON.stringify(typeof error === 'string' ? { [error]: null } : error);
}

function sumLamports({ keys, ...states }: ExecutedTransaction, side: 'before' | 'after'): bigint {
  const lamportsOf = (key: Address): bigint => states[side].get(key)?.lamports ?? 0n;
  return keys.map(lamportsOf).reduce((sum, lamports) => sum + lamports, 0n);
}

/** A program's units include those of its calls. A native program prints none and always uses the same number. */
function sumUnits(trace: Trace): bigint {
  const top = trace.calls.filter(({ address }) => address.length === 1);
  const units = top.map(({ call, units }) => {
    if (units) return units.consumed;
    return call.prints === 'no units' ? NATIVE_CALL_UNITS : 0n;
  });
  return units.reduce((sum, unit) => sum + unit, 0n);
}
