import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { emptySnapshot } from '../chain/chain-snapshot.ts';
import { AlarmBoard } from './alarm-board.ts';
import { Upkeep, type UpkeepDependencies } from './upkeep.ts';

function upkeepWith(list: () => Promise<boolean>) {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const acquire = () => ({ snapshot: emptySnapshot, release: () => undefined });
  const dependencies = {
    sealer: { list, merge: async () => false },
    acquire,
    removeUnused: async () => true,
    makeIndex: undefined,
    alarms,
    clock,
  } as unknown as UpkeepDependencies;
  return { upkeep: new Upkeep(dependencies), clock, alarms };
}

test('behavior: failed work is repeated, also if no segment is added, and its alarm ends', async () => {
  const outcomes = ['fails', 'fails', 'succeeds'];
  const { upkeep, clock, alarms } = upkeepWith(async () => {
    if (outcomes.shift() === 'fails') throw new CodedError('storage-failed', {});
    return false;
  });
  upkeep.start();
  await upkeep.done();
  // A segment is added while the work waits to be repeated.
  upkeep.start();
  await upkeep.done();
  expect(alarms.list()).toMatchObject([{ code: 'dataset-upkeep-failed' }]);
  await clock.advance(29_000);
  expect(outcomes).toHaveLength(1);
  await clock.advance(1_000);
  await upkeep.done();
  expect([outcomes, alarms.list()]).toEqual([[], []]);
  await clock.advance(100_000);
  await upkeep.close();
});

test('behavior: a process that no longer writes the dataset leaves the work to its successor', async () => {
  const causes: ('feed-unreachable' | 'feed-fenced')[] = ['feed-unreachable', 'feed-fenced'];
  const { upkeep, clock, alarms } = upkeepWith(async () => {
    const code = causes.shift();
    if (code === undefined) return false;
    throw new CodedError('dataset-write-failed', {}, { cause: new CodedError(code, {}) });
  });
  upkeep.start();
  await upkeep.done();
  expect(alarms.list()).toMatchObject([{ code: 'dataset-upkeep-failed' }]);
  await clock.advance(30_000);
  await upkeep.done();
  expect([causes, alarms.list()]).toEqual([[], []]);
  causes.push('feed-fenced');
  await clock.advance(100_000);
  expect(causes).toHaveLength(1);
  await upkeep.close();
});
