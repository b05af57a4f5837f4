import { expect, test } from 'vitest';
import { parseSearch as parse } from './parse-search.ts';

const address = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const signature =
  '2XNCfuc4mbJi1LyZV5jo2gnXHxe5zXcvPmtAaWF3S8R6CRXxAh3PFGszdX8K2a2N319b7FUvyn417F3JgjJFuLAs';

const named = [
  { name: 'Token', address },
  { name: 'Token-2022', address: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' },
  { name: 'USDC mint', address: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' },
];
const parseSearch = (text: string, head: number | undefined) => parse(text, { head, named });

test('behavior: an address is found by its name, also by a part of it that no other name has', () => {
  expect(parseSearch('token', 5_000)).toEqual({ kind: 'address', address });
  expect(parseSearch('token program', 5_000)).toEqual({ kind: 'address', address });
  expect(parseSearch('token 2022', 5_000)).toEqual({
    kind: 'address',
    address: named[1]?.address,
  });
  expect(parseSearch('usdc', 5_000)).toEqual({ kind: 'address', address: named[2]?.address });
  expect(parseSearch('tok', 5_000)).toEqual({
    kind: 'unknown',
    reason: `Several names match: Token (${address}), Token-2022 (${named[1]?.address}).`,
  });
});

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
