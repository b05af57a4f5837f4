import { expect, test } from 'vitest';
import { decodeQuery, encodeQuery } from './query-link.ts';

test('behavior: a query is the same after encoding and decoding, with any characters', () => {
  for (const text of ['{}', '{"fromBlock": 1}', '"ü€😀"', '{"a": "??>>~~"}']) {
    const hash = encodeQuery(text);
    expect(hash).toMatch(/^#q=[\w-]*$/);
    expect(decodeQuery(hash)).toBe(text);
  }
});

test('behavior: a part of an address without a query is ignored', () => {
  for (const hash of ['', '#main', '#q=%%%', '#q=_w']) expect(decodeQuery(hash)).toBe(undefined);
});
