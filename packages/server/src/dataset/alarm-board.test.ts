import { expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { CodedError, ERRORS, type ErrorCode, knownDetail } from '../base/errors.ts';
import { AlarmBoard } from './alarm-board.ts';

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
