import { expect, test } from 'vitest';
import { decodeQuery, encodeQuery } from './query-link.ts';

test('behavior: a query comes back from a link as it was, whatever its characters', () => {
  for (const text of ['{}', '{"fromBlock": 1}', '"ü€😀"', '{"a": "??>>~~"}']) {
    const hash = encodeQuery(text);
    expect(hash).toMatch(/^#q=[\w-]*$/);
    expect(decodeQuery(hash)).toBe(text);
  }
});

test('behavior: a part of an address that holds no query is left alone', () => {
  for (const hash of ['', '#main', '#q=%%%', '#q=_w']) expect(decodeQuery(hash)).toBe(undefined);
});
