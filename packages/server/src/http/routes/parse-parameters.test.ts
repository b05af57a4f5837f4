import { isCodedError } from '@sluice/base/errors';
import Type from 'typebox';
import { expect, test } from 'vitest';
import { isRequired, parseParameters } from './parse-parameters.ts';

const schemas = {
  slot: Type.Integer({ minimum: 0 }),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  before: Type.Optional(Type.String({ pattern: '^[a-z]+$', description: 'small letters' })),
};

function detailOf(texts: Record<string, unknown>) {
  try {
    parseParameters(schemas, texts);
  } catch (error) {
    if (isCodedError(error, 'parameter-invalid')) return error.detail;
    throw error;
  }
  return undefined;
}

test('default: texts become values, and absent parameters their defaults', () => {
  expect(parseParameters(schemas, { slot: '7', before: 'abc' })).toEqual({
    slot: 7,
    limit: 20,
    before: 'abc',
  });
  expect(parseParameters(schemas, { slot: '7', limit: '100' })).toEqual({ slot: 7, limit: 100 });
});

test('behavior: a number beyond 2^53 becomes the largest safe integer', () => {
  const { slot } = parseParameters(schemas, { slot: '99999999999999999999' });
  expect(slot).toBe(Number.MAX_SAFE_INTEGER);
});

test.each([
  [{}, 'slot'],
  [{ slot: '' }, 'slot'],
  [{ slot: ' 1' }, 'slot'],
  [{ slot: '1e3' }, 'slot'],
  [{ slot: ['1', '2'] }, 'slot'],
  [{ slot: '1', limit: '0' }, 'limit'],
  [{ slot: '1', limit: '101' }, 'limit'],
  [{ slot: '1', before: 'A' }, 'before'],
  [{ slot: '1', other: 'x' }, 'other'],
  [{ slot: '1', __proto__x: 'x' }, '__proto__x'],
  [{ slot: '1', constructor: 'x' }, 'constructor'],
])('error: parameter-invalid for %j names %s and the allowed values', (texts, path) => {
  const detail = detailOf(texts);
  expect(detail?.['path']).toBe(path);
  expect(detail?.['allowed']).toEqual(expect.any(String));
});

test('error: a schema can replace parameter-invalid by another code', () => {
  const timed = { seconds: Type.String({ pattern: '^x$', 'x-error': 'time-invalid' }) };
  expect(() => parseParameters(timed, { seconds: 'y' })).toThrow(
    expect.objectContaining({ code: 'time-invalid' }),
  );
});

test.each([
  [{ slot: 'x' }, { path: 'slot', found: '"x"', allowed: 'a non-negative integer' }],
  [
    { slot: '1', limit: '101' },
    { path: 'limit', found: '"101"', allowed: 'an integer from 1 to 100' },
  ],
  [
    { slot: '1', before: 'A' },
    { path: 'before', found: '"A"', allowed: 'small letters' },
  ],
  [
    { slot: '1', other: 'x' },
    { path: 'other', allowed: 'slot, limit, before' },
  ],
  [{}, { path: 'slot', allowed: 'a non-negative integer' }],
  [
    { slot: 'x'.repeat(100) },
    { path: 'slot', found: `"${'x'.repeat(79)}`, allowed: 'a non-negative integer' },
  ],
])('error: parameter-invalid for %j has the detail %j', (texts, detail) => {
  expect(detailOf(texts)).toEqual(detail);
});

test('behavior: schemas without a description, a pattern or a minimum', () => {
  const loose = { text: Type.String(), count: Type.Integer({ maximum: 5 }) };
  expect(parseParameters(loose, { text: 'Any', count: '0' })).toEqual({ text: 'Any', count: 0 });
  const detail = (texts: Record<string, unknown>) => {
    try {
      return parseParameters(loose, texts);
    } catch (error) {
      return isCodedError(error) ? error.detail : error;
    }
  };
  expect(detail({ count: '0' })).toEqual({ path: 'text', allowed: 'a text' });
  expect(detail({ text: 'x', count: '6' })).toMatchObject({ allowed: 'an integer from 0 to 5' });
  expect(() => parseParameters({}, { x: '1' })).toThrow('no parameters');
});

test('limit: a number has up to 40 digits', () => {
  expect(detailOf({ slot: '9'.repeat(40) })).toBe(undefined);
  expect(detailOf({ slot: '9'.repeat(41) })).toMatchObject({ path: 'slot' });
  expect(detailOf({ slot: '1', limit: '1' })).toBe(undefined);
});

test('behavior: a parameter is required without a default and unless it is optional', () => {
  expect(Object.values(schemas).map(isRequired)).toEqual([true, false, false]);
});
