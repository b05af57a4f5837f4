import { expect, test } from 'vitest';
import { parseSource } from '../source-file.ts';
import { findBans } from './bans.ts';

const somewhere = 'packages/server/src/chain/a.ts';

function judge(text: string, path = somewhere): string[] {
  return findBans([parseSource({ path, text })]).map(({ message }) => message.split(':')[0] ?? '');
}

test.each([
  ["throw new Error('bad');", 'throw new Error'],
  ["throw new TypeError('bad');", 'throw new Error'],
  ['const at = Date.now();', 'Date.now'],
  ['const at = new Date();', 'new Date()'],
  ['const at = performance.now();', 'performance.now'],
  ['setTimeout(flush, 1000);', 'setTimeout'],
  ['const at = Math.random();', 'Math.random'],
  ["console.log('a');", 'console'],
  ['setInterval(flush, 1000);', 'setInterval'],
  ['process.exit(1);', 'process.exit'],
  ['const formatV1 = 3;', 'a name with v1'],
  ["get('/API/V1/blocks');".toLowerCase(), 'a name with v1'],
])('error: %s', (text, ban) => {
  expect(judge(text)).toEqual([ban]);
});

test('behavior: comments, strings and similar harmless code are accepted', () => {
  const text = `
    // throw new Error, Date.now and console.log are banned
    const words = 'Math.random() and setInterval';
    const day = new Date(clock.unixMs());
    socket.setTimeout(idleMsMax);
    throw new CodedError('cli-usage');`;
  expect(judge(text)).toEqual([]);
});

test('behavior: each ban exempts the file that implements the alternative', () => {
  expect(judge('Date.now();', 'packages/base/src/clock.ts')).toEqual([]);
  expect(judge('setTimeout(a, performance.now());', 'packages/server/bin/build.js')).toEqual([]);
  expect(judge('process.exit(70);', 'packages/server/bin/sluice.js')).toEqual([]);
  expect(judge("throw new Error('a fault');", 'packages/server/src/chain/a.test.ts')).toEqual([]);
  expect(judge('Date.now();', 'packages/server/src/chain/a.test.ts')).toEqual(['Date.now']);
});

test('behavior: a finding contains the line', () => {
  const file = parseSource({ path: somewhere, text: '\n\nconst a = Math.random();' });
  expect(findBans([file])[0]?.line).toBe(3);
});
