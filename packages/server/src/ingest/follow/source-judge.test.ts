import { CodedError } from '@sluice/base/errors';
import { toSlot } from '@sluice/ledger/primitives';
import { refusal } from '@sluice/source/refusal';
import { expect, test } from 'vitest';
import { ref } from '../../chain/testing/chain-fixtures.ts';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { IngestCounters } from '../ingest-counters.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { makeFakeSource, makeHeaders, makeSnapshot } from '../testing/fake-source.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import { SourceJudge } from './source-judge.ts';
import type { Agreement, TipAgreement } from './tip-agreement.ts';

const headers = makeHeaders('a', [10, 11, 12]);

function start(agreed: Agreement = 'reached') {
  const clock = new ManualClock();
  const source = makeFakeSource({ clock, name: 'node' });
  const alarms = new AlarmBoard(clock);
  const counters = new IngestCounters();
  const feeder = { pending: makeSnapshot(headers) } as unknown as ChainFeeder;
  const agreement = { reach: async () => agreed } as unknown as TipAgreement;
  const judge = new SourceJudge({ source, feeder, alarms, counters, clock, agreement });
  const raised = () => alarms.list().map(({ code, message }) => `${code}: ${message}`);
  return { clock, source, alarms, counters, judge, raised };
}

const { signal } = new AbortController();
const blockAt = (slot: number) => ({ header: { number: slot } }) as PreparedBlock;

test('default: wrong data is a strike and an alarm that names the source', () => {
  const { judge, raised, source } = start();
  expect(judge.strike('source-unlinked', 'it lies')).toBe(false);
  expect(raised()).toEqual(['source-unlinked: node: it lies']);
  expect(source.health.status).toMatchObject({ strikes: 1, fault: 'it lies' });
});

test('behavior: an error is an alarm of the same code, with its slot', () => {
  const { judge, raised } = start();
  const error = new CodedError('block-not-json', { slot: 5 });
  judge.strikeFor(error);
  expect(raised()).toEqual([`block-not-json: node: ${error.message}`]);
  judge.strikeFor(error, toSlot(7));
  expect(raised()).toEqual([`block-not-json: node: slot 7: ${error.message}`]);
  expect(() => judge.strikeFor(new CodedError('lookups-full'))).toThrow();
});

test('behavior: growth clears the alarms about wrong data and cancels a strike', () => {
  const { judge, alarms, source } = start();
  judge.strike('source-unlinked', 'it lies');
  alarms.raise('sources-down', 'x');
  judge.noteGrowth();
  expect(alarms.list().map(({ code }) => code)).toEqual(['sources-down']);
  expect(source.health.status.strikes).toBe(0);
});

test('behavior: only the source that contradicted the finalized blocks clears that alarm', () => {
  const { judge, alarms } = start();
  alarms.raise('source-contradicts-finality', 'another source');
  judge.noteAgreement();
  judge.noteGrowth();
  expect(alarms.has('source-contradicts-finality')).toBe(true);
  expect(judge.strikeForFinality('other blocks')).toBe(false);
  judge.noteAgreement();
  expect(alarms.has('source-contradicts-finality')).toBe(false);
  alarms.raise('source-contradicts-finality', 'another source');
  judge.noteAgreement();
  expect(alarms.has('source-contradicts-finality')).toBe(true);
  judge.strikeForFinality('again');
  judge.noteGrowth();
  expect(alarms.has('source-contradicts-finality')).toBe(false);
});

test('error: source-hole is an outage and no strike', () => {
  const { judge, raised, source } = start();
  judge.noteHole(toSlot(9));
  const fault = 'it names slot 9 as a parent but reports no block there';
  expect(raised()).toEqual([`source-hole: node: ${fault}`]);
  expect(source.health.status).toMatchObject({ failures: 1, strikes: 0, fault, state: 'waiting' });
});

test.each([
  ['reached', true, []],
  ['missing', false, []],
  ['contradicted', false, ['source-disagrees: node: others have another block at slot 12']],
] as const)('behavior: the agreement is %s', async (outcome, expected, alarms) => {
  const { judge, raised } = start(outcome);
  expect(await judge.isAgreed(ref('a12'), signal)).toBe(expected);
  expect(raised()).toEqual(alarms);
});

test('behavior: a refused block is noted in the health of the source', () => {
  const { judge, source, raised } = start();
  const load = {
    kind: 'refused' as const,
    slot: toSlot(5),
    refusal: refusal('outage', 'HTTP 500'),
  };
  expect(judge.rejectLoad(load)).toBe(false);
  expect([source.health.status.fault, raised()]).toEqual(['HTTP 500', []]);
});

test('error: a damaged block is counted and is a strike', () => {
  const { judge, counters, raised, source } = start();
  const error = new CodedError('block-not-json', { slot: 5 });
  expect(judge.rejectLoad({ kind: 'damaged', slot: toSlot(5), error })).toBe(false);
  expect(counters.toJSON()).toEqual({ 'refused.block-not-json': 1 });
  expect(raised()).toEqual([`block-not-json: node: slot 5: ${error.message}`]);
  expect(source.health.status.strikes).toBe(1);
});

test.each([
  new CodedError('block-pool-full', { slot: 5, waiting: 9 }),
  new CodedError('block-pool-closed', { slot: 5 }),
  new CodedError('block-worker-died', { slot: 5 }),
])('behavior: $code is no fault of the source', (error) => {
  const { judge, counters, raised, source } = start();
  expect(judge.rejectLoad({ kind: 'damaged', slot: toSlot(5), error })).toBe(false);
  expect([counters.toJSON(), raised(), source.health.status.failures]).toEqual([{}, [], 0]);
});

test.each([
  new CodedError('block-kind-missing', { slot: 5, kind: 'logs' }),
  new CodedError('block-meta-missing', { slot: 5, field: 'meta' }),
])(
  'behavior: $code is an alarm only after 30 s, and the block is requested again after 1 s',
  async (error) => {
    const { code } = error;
    const { judge, counters, raised, source, clock } = start();
    const reject = (slot: number) =>
      judge.rejectLoad({ kind: 'damaged', slot: toSlot(slot), error });
    expect(reject(5)).toBe(false);
    expect(source.health.status).toMatchObject({ strikes: 0, failures: 1, state: 'waiting' });
    await clock.advance(999);
    expect(source.health.isReady).toBe(false);
    await clock.advance(1);
    expect(source.health.isReady).toBe(true);
    await clock.advance(28_999);
    reject(5);
    expect(raised()).toEqual([]);
    await clock.advance(1);
    reject(5);
    expect(raised()).toEqual([`${code}: node: slot 5: ${error.message}`]);
    expect(counters.toJSON()).toEqual({ [`refused.${code}`]: 3 });
    // The time starts again with another block.
    judge.noteGrowth();
    reject(6);
    await clock.advance(29_999);
    reject(6);
    expect(raised()).toEqual([]);
  },
);

test('behavior: a rejected commit is a strike, unless the disk failed or another source was faster', () => {
  const { judge, raised, source } = start();
  const chainError = new CodedError('chain-ancestor-unknown', { slot: 12, hash: 'x' });
  expect(judge.rejectCommit(blockAt(12), chainError)).toBe(false);
  const failed = new CodedError('dataset-write-failed');
  expect(judge.rejectCommit(blockAt(13), failed)).toBe(false);
  expect([raised(), source.health.status.strikes]).toEqual([[], 0]);
  expect(judge.rejectCommit(blockAt(13), chainError)).toBe(false);
  expect(raised()).toEqual([`chain-ancestor-unknown: node: slot 13: ${chainError.message}`]);
});
