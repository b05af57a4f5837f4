import { expect, test } from 'vitest';
import { parseSearch } from './parse-search.ts';

const address = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const signature =
  '2XNCfuc4mbJi1LyZV5jo2gnXHxe5zXcvPmtAaWF3S8R6CRXxAh3PFGszdX8K2a2N319b7FUvyn417F3JgjJFuLAs';

test('default: slots, addresses, signatures and times are recognized', () => {
  expect(parseSearch(' 1,234 ', 5_000)).toEqual({ kind: 'slot', slot: 1_234 });
  expect(parseSearch('0', undefined)).toEqual({ kind: 'slot', slot: 0 });
  expect(parseSearch(address, 5_000)).toEqual({ kind: 'address', address });
  expect(parseSearch(signature, 5_000)).toEqual({ kind: 'signature', signature });
  const noon = { kind: 'time', seconds: 1_738_411_200n };
  for (const text of ['2025-02-01 12:00', '2025-02-01T12:00:00Z', '2025-02-01 12:00 UTC']) {
    expect(parseSearch(text, 5_000)).toEqual(noon);
  }
  expect(parseSearch('2025-02-01', 5_000)).toEqual({ kind: 'time', seconds: 1_738_368_000n });
});

test('behavior: a number is a time only if it is above the head and large enough', () => {
  expect(parseSearch('1738411200', 400_000_000)).toMatchObject({ kind: 'time' });
  expect(parseSearch('1738411200', 2_000_000_000)).toMatchObject({ kind: 'slot' });
  expect(parseSearch('500000000', 400_000_000)).toMatchObject({ kind: 'slot' });
});

test('behavior: other texts give an explanation', () => {
  for (const text of ['hello, world', '0xff', address.slice(0, 20), '2025-99-99']) {
    expect(parseSearch(text, 5_000).kind).toBe('unknown');
  }
});
