import { CodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { emptySnapshot } from '../chain/chain-snapshot.ts';
import { AlarmBoard } from './alarm-board.ts';
import { datasetLimits } from './dataset-limits.ts';
import { Upkeep, type UpkeepDependencies } from './upkeep.ts';

test('behavior: failed work is repeated, also if no segment is added, and its alarm ends', async () => {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const outcomes = ['fails', 'fails', 'succeeds'];
  const sealer = {
    list: async () => {
      if (outcomes.shift() === 'fails') throw new CodedError('storage-failed', {});
      return false;
    },
    merge: async () => false,
  };
  const acquire = () => ({ snapshot: emptySnapshot, release: () => undefined });
  const parts = { sealer, acquire, removeUnused: async () => true, makeIndex: undefined };
  const upkeep = new Upkeep({ limits: datasetLimits }, {
    ...parts,
    alarms,
    clock,
  } as unknown as UpkeepDependencies);
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
