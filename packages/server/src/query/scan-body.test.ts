import { isCodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import { checkDepth, scanKeys } from './scan-body.ts';

function rejection(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (isCodedError(error)) return { code: error.code, ...error.detail };
    throw error;
  }
  return 'accepted';
}

const depth = (text: string, depthMax: number) =>
  rejection(() => checkDepth(new TextEncoder().encode(text), depthMax));

test.each([
  ['{"a":{}}', 2],
  ['[[],[],[]]', 2],
  ['[{},{},{}]', 2],
  ['{"[[[":"]{{"}', 1],
  ['["\\"[[[",1]', 1],
  ['["\\\\",1]', 1],
  ['"', 0],
  ['"\\', 0],
])('limit: %s is accepted with %i levels', (text, levels) => {
  expect(depth(text, levels)).toBe('accepted');
});

test.each([
  ['{"a":{}}', 1, 'level 2 at byte 5'],
  ['[[]]', 1, 'level 2 at byte 1'],
  // Closing brackets that are not there count nothing.
  ['["]]",[]]', 1, 'level 2 at byte 6'],
  ['["\\"",[]]', 1, 'level 2 at byte 6'],
  ['["\\\\",[]]', 1, 'level 2 at byte 6'],
  ['[1,2,3,[]]', 1, 'level 2 at byte 7'],
])('error: query-too-deep for %s with %i levels', (text, levels, found) => {
  expect(depth(text, levels)).toEqual({
    code: 'query-too-deep',
    path: '$',
    found,
    allowed: `${levels} levels`,
  });
});

test('default: the numbers of the top level are returned as they were written', () => {
  const text = '{"a" : 1.50, "b":[2,{"a":3}],"c":{"d":4},"e":"5","f":-6e+7, "g":9007199254740993}';
  expect([...scanKeys(text)]).toEqual([
    ['a', '1.50'],
    ['f', '-6e+7'],
    ['g', '9007199254740993'],
  ]);
});

test.each([
  '1',
  '"a"',
  '[]',
  '[1,2,"a","a"]',
  '{"a":["a","a"],"b":{"a":1}}',
  '[{"a":1},{"a":1}]',
  '{"a":"a","b":"a"}',
])('behavior: %s has no key twice', (text) => {
  expect(rejection(() => scanKeys(text))).toBe('accepted');
});

test.each([
  ['{"a":1,"a":2}', 'a', '"a" twice'],
  ['{"x":[{},{"a":"b","c":1,"a":2}]}', 'x[1].a', '"a" twice'],
  ['[[{"b":1}],[1,{"b":1,"b":1}]]', '$[1][1].b', '"b" twice'],
])('error: query-key-duplicate for %s', (text, path, found) => {
  expect(rejection(() => scanKeys(text))).toEqual({
    code: 'query-key-duplicate',
    path,
    found,
    allowed: 'each key once',
  });
});
