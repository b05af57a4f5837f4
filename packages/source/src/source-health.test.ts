import { Random } from '@sluice/base/random';
import { expect, test } from 'vitest';
import { ManualClock } from '../../base/src/testing/manual-clock.ts';
import { refusal } from './refusal.ts';
import { SourceHealth } from './source-health.ts';

const minuteMs = 60_000;

function open() {
  const clock = new ManualClock();
  const health = new SourceHealth('node', { clock, random: Random.fromSeed(1) });
  return { clock, health };
}

test('behavior: the fifth strike starts a quarantine of a minute; after it a valid answer restores the source', () => {
  const { clock, health } = open();
  for (let strike = 1; strike <= 4; strike++) health.strike('a wrong parent');
  expect(health.status.state).not.toBe('quarantined');
  health.strike('a wrong parent');
  expect([health.status.state, health.isReady]).toEqual(['quarantined', false]);
  clock.advance(minuteMs - 1);
  expect(health.isReady).toBe(false);
  clock.advance(1);
  expect(health.isReady).toBe(true);
  health.responded();
  expect(health.status).toMatchObject({ state: 'live', fault: null });
});

test('behavior: after a quarantine one strike starts the next one, unless blocks were accepted meanwhile', () => {
  const { clock, health } = open();
  for (let strike = 1; strike <= 5; strike++) health.strike('a wrong parent');
  clock.advance(minuteMs);
  health.responded();
  health.strike('a wrong parent');
  expect(health.status.state).toBe('quarantined');
  clock.advance(minuteMs);
  health.responded();
  health.praise();
  health.strike('a wrong parent');
  expect(health.status.state).not.toBe('quarantined');
});

test('behavior: a source that fails in a quarantine stays in quarantine', () => {
  const { health } = open();
  for (let strike = 1; strike <= 5; strike++) health.strike('a wrong parent');
  health.fail(refusal('outage', 'ECONNREFUSED'));
  expect(health.status.state).toBe('quarantined');
});
