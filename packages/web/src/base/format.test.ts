import { expect, test } from 'vitest';
import { formatAmount, formatBytes, formatChange, formatDuration, formatTime } from './format.ts';
import { writeJson } from './write-json.ts';

test('default: amounts keep every digit', () => {
  expect(formatAmount(18_446_744_073_709_551_615n, 9)).toBe('18,446,744,073.709551615');
  expect(formatAmount(1n, 9)).toBe('0.000000001');
  expect(formatAmount(-1_500_000n, 6)).toBe('−1.5');
  expect(formatAmount(1_000n, 0)).toBe('1,000');
  expect(formatChange(5n, 0)).toBe('+5');
  expect(formatChange(0n, 2)).toBe('0');
});

test('default: bytes, times and durations are short', () => {
  expect([999, 1_000, 123_456_789].map(formatBytes)).toEqual(['999 B', '1.0 kB', '123 MB']);
  expect([5, 1_500, 61_000, 3_720_000].map(formatDuration)).toEqual([
    '5 ms',
    '1.5 s',
    '1 min 1 s',
    '1 h 2 min',
  ]);
  expect(formatTime(1_738_411_200n)).toBe('1 Feb 2025, 12:00:00 UTC');
  expect(formatTime(10n ** 18n)).toBe(String(10n ** 18n));
});

test('behavior: JSON is written with exact 64-bit integers', () => {
  const value = { fee: 2n ** 64n - 1n, list: [1, null, 'a"b'], empty: {}, gone: undefined };
  expect(writeJson(value)).toBe('{"fee":18446744073709551615,"list":[1,null,"a\\"b"],"empty":{}}');
  expect(writeJson({ a: [1n] }, 2)).toBe('{\n  "a": [\n    1\n  ]\n}');
});
