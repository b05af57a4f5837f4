import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { SyncReporter } from './sync-reporter.ts';

function create(isTerminal: boolean) {
  const clock = { atMs: 0, nowMs: () => clock.atMs, unixMs: () => 0, sleep: async () => undefined };
  const err = Object.assign(new PassThrough(), { isTTY: isTerminal });
  const text = () => String(err.read() ?? '');
  return { clock, text, reporter: new SyncReporter(err, clock) };
}

test('behavior: the rows of a load are shown once when the last table is loaded, not when the command ends', () => {
  const { clock, text, reporter } = create(false);
  for (const table of ['a', 'b']) reporter.take({ kind: 'load-start', table, first: 0, last: 9 });
  clock.atMs += 1_000;
  for (const table of ['a', 'b']) reporter.take({ kind: 'load', table, slots: 10, rows: 500 });
  text();
  reporter.take({ kind: 'end', table: 'a', slot: 9 });
  expect(text()).toBe('a is stored up to slot 9\n');
  reporter.take({ kind: 'follow', table: 'b', slot: 9 });
  expect(text()).toBe('1000 rows, 1000 rows/s\nb follows the ledger from slot 9\n');
  clock.atMs += 3_600_000;
  reporter.end();
  expect(text()).toBe('');
});

test('behavior: on a terminal, a line replaces the bar', () => {
  const { clock, text, reporter } = create(true);
  reporter.take({ kind: 'load-start', table: 'a', first: 0, last: 9 });
  clock.atMs += 1_000;
  reporter.take({ kind: 'load', table: 'a', slots: 5, rows: 500 });
  text();
  reporter.take({ kind: 'index', table: 'a' });
  expect(text()).toBe('\r\x1b[Ka is loaded, creating its indexes\n');
});

test('behavior: a failure of all tables is shown once, and again after another line', () => {
  const { text, reporter } = create(false);
  const error = new Error('the database does not respond');
  const fail = () => {
    for (const table of ['a', 'b', 'c'])
      reporter.take({ kind: 'retry', table, error, waitMs: 1_000 });
  };
  fail();
  fail();
  expect(text()).toBe('a the database does not respond; trying again in 1 s\n');
  reporter.take({ kind: 'retry', table: 'a', error, waitMs: 2_000 });
  expect(text()).toContain('in 2 s');
  reporter.take({ kind: 'follow', table: 'a', slot: undefined });
  expect(text()).toBe('a follows the ledger from the start\n');
  fail();
  expect(text()).toContain('in 1 s');
});
