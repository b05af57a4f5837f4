import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import { runToCompletion } from '@sluice/base/time-slices';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildSet, readKeysSteps, SetKeys, setAddressCountMax } from './address-set.ts';
import { makeSet } from './testing/test-sets.ts';

const keyOf = (value: number | string) => createHash('sha256').update(String(value)).digest();

/** Keys that share their first bytes, and random ones. */
const key = fc.oneof(
  fc.nat(255).map((last) => Buffer.concat([Buffer.alloc(31, 7), Buffer.of(last)])),
  fc.nat(999).map(keyOf),
);

test('property: a set has exactly its addresses, in the order of their bytes, whatever the order and number of lines', () => {
  fc.assert(
    fc.property(
      fc.array(key, { maxLength: 300 }),
      fc.array(key, { maxLength: 50 }),
      (keys, others) => {
        const texts = keys.map((each) => base58.encode(each));
        const set = makeSet('a', texts);
        const reader = new SetKeys(set);
        const sorted = [...new Set(keys.map((each) => each.toString('hex')))].sort();
        expect(Buffer.from(reader.bytes).toString('hex')).toBe(sorted.join(''));
        const all = [...keys, ...others];
        expect(all.map((each) => reader.has(each, 0))).toEqual(
          all.map((each) => sorted.includes(each.toString('hex'))),
        );
        expect(makeSet('b', [...texts, ...texts].reverse()).version).toBe(set.version);
        const digest = createHash('sha256').update(Buffer.from(sorted.join(''), 'hex'));
        expect(set.version).toBe(digest.digest('hex').slice(0, 16));
      },
    ),
    { numRuns: 30 },
  );
});

const read = (text: string) => runToCompletion(readKeysSteps(Buffer.from(text)));

test('behavior: empty lines, comments, carriage returns and a missing last line feed are accepted', () => {
  const [a, b] = [1, 2].map((value) => base58.encode(keyOf(value)));
  expect(read(`# exchanges\r\n\r\n${a}\r\n  ${b}`)).toEqual(
    new Uint8Array(Buffer.concat([keyOf(1), keyOf(2)])),
  );
  expect(read('')).toHaveLength(0);
});

test('error: set-invalid has the line and what is wrong with it', () => {
  const good = base58.encode(keyOf(1));
  expect(() => read(`${good}\n#\n${good}0`)).toThrowError(
    expect.objectContaining({ code: 'set-invalid', detail: expect.objectContaining({ line: 3 }) }),
  );
  expect(() => read(good.slice(5))).toThrowError(expect.objectContaining({ code: 'set-invalid' }));
});

test('limit: a set has at most a million addresses, and the largest one is read', {
  timeout: 60_000,
}, () => {
  const line = '1'.repeat(32);
  const text = Buffer.alloc((setAddressCountMax + 1) * 33, `${line}\n`);
  expect(runToCompletion(readKeysSteps(text.subarray(33)))).toHaveLength(setAddressCountMax * 32);
  expect(() => runToCompletion(readKeysSteps(text))).toThrowError(
    expect.objectContaining({ code: 'set-too-large' }),
  );
});

test('behavior: a set of many addresses rejects most others by its bits, and finds all of its own', () => {
  const keys = Array.from({ length: 5_000 }, (_, i) => keyOf(i)).sort(Buffer.compare);
  const reader = new SetKeys(buildSet('many', new Uint8Array(Buffer.concat(keys))));
  expect(keys.every((each) => reader.has(each, 0))).toBe(true);
  expect(reader.has(keyOf(5_000), 0)).toBe(false);
});
