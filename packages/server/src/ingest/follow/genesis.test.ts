import type { SourceIdentity } from '@sluice/source/source';
import { beforeEach, expect, test } from 'vitest';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { makeFakeSource, ok, refuse } from '../testing/fake-source.ts';
import type { FollowedSource } from './followed-source.ts';
import { agreeOnGenesis, checkIdentity } from './genesis.ts';

const clock = new ManualClock();
let alarms: AlarmBoard;
let adopted: string[];
beforeEach(() => {
  alarms = new AlarmBoard(clock);
  adopted = [];
});

function makeDataset(genesisHash: string | null, allowMissing: string[] = []): Dataset {
  const description = { votes: 'drop', allowMissing, genesisHash };
  const adoptGenesis = async (hash: string) => {
    adopted.push(hash);
    description.genesisHash ??= hash;
  };
  return { description, alarms, adoptGenesis } as unknown as Dataset;
}

function makeSource(name: string, ...hashes: (string | null | undefined)[]): FollowedSource {
  const identity = async () => {
    const hash = hashes.length > 1 ? hashes.shift() : hashes[0];
    return hash === undefined ? refuse('outage') : ok({ genesisHash: hash, content: null });
  };
  return makeFakeSource({ name, clock, remote: { identity } });
}

async function agree(sources: readonly FollowedSource[], dataset: Dataset): Promise<void> {
  const agreed = agreeOnGenesis(sources, { dataset, clock }, new AbortController().signal);
  await clock.advance(1_000);
  await agreed;
}

const isUsed = ({ isGenesisChecked, health }: FollowedSource) =>
  isGenesisChecked && !health.isDisabled;

test('default: most sources decide, and sources of another ledger are disabled', async () => {
  const sources = ['x', 'y', 'y'].map((hash, i) => makeSource(`s${i}`, hash));
  await agree(sources, makeDataset(null));
  expect([adopted, sources.map(isUsed)]).toEqual([['y'], [false, true, true]]);
  expect(sources[0]?.health.status.fault).toBe('it serves another ledger');
  expect(alarms.list()).toMatchObject([
    { code: 'dataset-genesis-differs', message: 's0 serves another ledger' },
  ]);
});

test('behavior: the hash of the dataset decides if it has one', async () => {
  const sources = ['x', 'y', 'y'].map((hash, i) => makeSource(`s${i}`, hash));
  await agree(sources, makeDataset('x'));
  expect([adopted, sources.map(isUsed)]).toEqual([['x'], [true, false, false]]);
});

test('behavior: a source that does not know its genesis is used, and decides nothing', async () => {
  const sources = [makeSource('s0', null)];
  await agree(sources, makeDataset('x'));
  expect(sources.map(isUsed)).toEqual([true]);
  adopted = [];
  const alone = makeSource('s1', null);
  await agree([alone], makeDataset(null));
  expect([adopted, isUsed(alone)]).toEqual([[], true]);
});

test('behavior: sources that do not answer are asked again until one is known', async () => {
  const late = makeSource('s0', undefined, 'x');
  const dataset = makeDataset(null);
  let isOver = false;
  const agreed = agreeOnGenesis([late], { dataset, clock }, new AbortController().signal).then(
    () => {
      isOver = true;
    },
  );
  await clock.advance(249);
  expect([isOver, adopted]).toEqual([false, []]);
  await clock.advance(1);
  await agreed;
  expect([adopted, isUsed(late)]).toEqual([['x'], true]);
});

test('behavior: a source that must not be asked yet is left out', async () => {
  const [paused, other] = [makeSource('s0', 'x'), makeSource('s1', 'y')];
  paused.health.fail({ kind: 'refused', reason: 'outage', cause: 'x', retryAfterMs: 60_000 });
  await agree([paused, other], makeDataset(null));
  expect([adopted, isUsed(paused), isUsed(other)]).toEqual([['y'], false, true]);
});

test('behavior: a source of another ledger does not end the wait for the others', async () => {
  const [wrong, late] = [makeSource('s0', 'y'), makeSource('s1', undefined, 'x')];
  await agree([wrong, late], makeDataset('x'));
  expect([wrong.health.isDisabled, isUsed(late)]).toEqual([true, true]);
});

test('behavior: the wait ends at once when one source is known', async () => {
  const sources = [makeSource('s0', undefined), makeSource('s1', 'x')];
  const { signal } = new AbortController();
  await agreeOnGenesis(sources, { dataset: makeDataset(null), clock }, signal);
  expect(sources.map(isUsed)).toEqual([false, true]);
});

test('behavior: a dataset without a genesis hash accepts a source of any ledger', () => {
  const source = makeSource('s0');
  checkIdentity(source, { genesisHash: 'x', content: null }, makeDataset(null));
  expect(isUsed(source)).toBe(true);
});

test('behavior: nobody is asked after the stop, nor if all sources are disabled', async () => {
  const stop = new AbortController();
  stop.abort();
  const source = makeSource('s0', 'x');
  await agreeOnGenesis([source], { dataset: makeDataset(null), clock }, stop.signal);
  expect([adopted, source.isGenesisChecked]).toEqual([[], false]);
  const wrong = makeSource('s1', 'y');
  await agreeOnGenesis([wrong], { dataset: makeDataset('x'), clock }, new AbortController().signal);
  expect(wrong.health.isDisabled).toBe(true);
});

function check(content: SourceIdentity['content'], allowMissing: string[] = []): FollowedSource {
  const source = makeSource('portal');
  source.isGenesisChecked = true;
  checkIdentity(source, { genesisHash: 'x', content }, makeDataset('x', allowMissing));
  return source;
}

test('behavior: a portal must store what the dataset stores', () => {
  expect(isUsed(check({ votes: 'drop', allowMissing: [] }))).toBe(true);
  expect(isUsed(check({ votes: 'drop', allowMissing: ['logs'] }, ['logs', 'meta']))).toBe(true);
  expect(alarms.list()).toEqual([]);
  expect(isUsed(check({ votes: 'keep', allowMissing: [] }))).toBe(false);
  expect(alarms.list().map(({ message }) => message)).toEqual([
    'portal has votes keep, allow-missing none; the dataset has votes drop, allow-missing none',
  ]);
  const partial = check({ votes: 'drop', allowMissing: ['logs', 'meta'] }, ['logs']);
  expect([isUsed(partial), partial.isGenesisChecked]).toEqual([false, false]);
  expect(partial.health.status.fault).toBe(
    'it stores other records than the dataset: votes drop, allow-missing logs,meta',
  );
  expect(alarms.list().map(({ code, message }) => [code, message])).toEqual([
    [
      'portal-content-differs',
      'portal has votes drop, allow-missing logs,meta; the dataset has votes drop, allow-missing logs',
    ],
  ]);
  check({ votes: 'keep', allowMissing: [] }, ['logs', 'meta']);
  expect(alarms.list()[0]?.message).toMatch(/the dataset has votes drop, allow-missing logs,meta$/);
});
