import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { styler, usesColor, widthOf, withoutControls } from './terminal.ts';

const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 132 });
const pipe = new PassThrough();

test.each([
  ['a terminal', terminal, {}, true],
  ['a pipe', pipe, {}, false],
  ['NO_COLOR', terminal, { NO_COLOR: '1' }, false],
  ['an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
  ['a terminal without colors', terminal, { TERM: 'dumb' }, false],
  ['FORCE_COLOR on a pipe', pipe, { FORCE_COLOR: '1' }, true],
  ['FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false],
  ['both', pipe, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
])('behavior: colours are used or not for %s', (_what, stream, env, isColored) => {
  expect(usesColor(stream, env)).toBe(isColored);
});

test('behavior: without colours text is unchanged', () => {
  expect(styler(false)('red', 'x')).toBe('x');
  expect(styler(true)('red', 'x')).toBe('\x1b[31mx\x1b[0m');
});

test('behavior: text of a ledger cannot control the terminal', () => {
  expect(withoutControls('a\x1b[2Jb\nc')).toBe('a\ufffd[2Jb\ufffdc');
});

test('default: the width is that of the terminal, or the usual one if it is unknown', () => {
  expect([widthOf(terminal), widthOf(pipe)]).toEqual([132, 80]);
});
