import { systemClock } from '@sluice/base/clock';
import { CodedError, ERRORS, type ErrorCode, knownDetail } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { AlarmBoard } from './alarm-board.ts';
import { isAlarmCode } from './alarm-codes.ts';

test('behavior: S-15 the text of an alarm contains the name of a file but not its folder, for every error', () => {
  const board = new AlarmBoard(systemClock);
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    const detail = { path: '/srv/a, b/c (1).jsonl', folder: '/srv/data/', file: 'rel/x', line: 3 };
    board.raise('files-unread', new CodedError(code, ...knownDetail(detail)));
    const [alarm] = board.list();
    expect(alarm?.message).toBe(
      `${ERRORS[code].text} (path c (1).jsonl, folder data/, file x, line 3)`,
    );
  }
});

test('default: an alarm is active from its first raise until it is cleared, with the last text', () => {
  const clock = new ManualClock();
  const board = new AlarmBoard(clock);
  const sinceUnixMs = clock.unixMs();
  board.raise('sources-down', 'one');
  clock.advance(5);
  board.raise('sources-down', 'two');
  expect([board.has('sources-down'), board.has('feed-full')]).toEqual([true, false]);
  expect(board.list()).toEqual([{ code: 'sources-down', message: 'two', sinceUnixMs }]);
  board.clear('sources-down');
  expect([board.has('sources-down'), board.list()]).toEqual([false, []]);
});

test('behavior: `isAlarmCode` is true only for codes of alarms', () => {
  expect(['ingest-stalled', 'store-unreachable', 'nothing'].map(isAlarmCode)).toEqual([
    true,
    true,
    false,
  ]);
});
