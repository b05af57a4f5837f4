import { Random } from '@sluice/base/random';
import { refusal } from '@sluice/source/refusal';
import { expect, test } from 'vitest';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { makeFakeSource, ok } from '../testing/fake-source.ts';
import { FollowedSource } from './followed-source.ts';

const clock = new ManualClock();

test('default: a new source is unknown, and without notifications it is polled', async () => {
  const options = { kind: 'portal' as const, name: 'one', url: 'http://127.0.0.1:9/datasets/x' };
  const source = new FollowedSource(options, { clock, random: Random.fromSeed(1) });
  const { name, isGenesisChecked, finalizedSlot, confirmedSlot, notices } = source;
  expect([name, isGenesisChecked, finalizedSlot, confirmedSlot]).toEqual(['one', false, -1, -1]);
  expect([notices.isLive, notices.highest, notices.announcedAbove(0)]).toEqual([false, -1, []]);
  expect([notices.announcedMs(0), source.health.status.name]).toEqual([undefined, 'one']);
  const { signal } = new AbortController();
  await notices.above(0, 1, signal);
  await notices.run(signal);
  await source.remote.close();
});

test.each(['not-available', 'skipped-hint', 'pending', 'pruned'] as const)(
  'behavior: the refusal %s is a good answer',
  (reason) => {
    const source = makeFakeSource({ clock, isHealthy: false });
    const answer = refusal(reason, 'code');
    expect(source.note(answer)).toBe(answer);
    expect(source.health.status).toMatchObject({ state: 'live', failures: 0, strikes: 0 });
  },
);

test('behavior: outages and malformed answers count against a source', () => {
  const source = makeFakeSource({ clock, isHealthy: false });
  source.note(ok(1));
  expect(source.health.status).toMatchObject({ state: 'live', failures: 0 });
  source.note(refusal('outage', 'HTTP 500'));
  expect(source.health.status).toMatchObject({ failures: 1, strikes: 0, fault: 'HTTP 500' });
  source.note(refusal('malformed', 'not JSON'));
  expect(source.health.status).toMatchObject({ failures: 2, strikes: 1, fault: 'not JSON' });
});

test('behavior: the delay of an announced block is learned, unless requests are limited', () => {
  const notices = { announcedMs: (slot: number) => (slot === 7 ? 100 : undefined) };
  const source = makeFakeSource({ clock, notices });
  source.learn(8, 400);
  expect(source.due.pauseMs([300])).toBe(50);
  source.learn(7, 400);
  expect(source.due.pauseMs([300])).toBe(15);
  const limited = makeFakeSource({ clock, notices, remote: { isRateLimited: true } });
  limited.learn(7, 400);
  expect(limited.due.pauseMs([300])).toBe(50);
});
