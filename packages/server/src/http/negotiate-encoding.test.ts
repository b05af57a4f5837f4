import { expect, test } from 'vitest';
import { type Encoding, negotiateEncoding } from './negotiate-encoding.ts';

const all: readonly Encoding[] = ['gzip', 'zstd', 'identity'];

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['gzip, zstd', 'gzip'],
  ['deflate, gzip, br, zstd', 'gzip'],
  ['zstd', 'zstd'],
  ['gzip;q=0.9, zstd', 'zstd'],
  ['gzip;q=1.0, zstd;q=0.5', 'gzip'],
  ['gzip;q=0', 'identity'],
  ['gzip;q=0.001', 'gzip'],
  ['GZIP ; Q=0.5', 'gzip'],
  ['br', 'identity'],
  ['*', 'gzip'],
  ['*;q=0.1, gzip;q=0', 'zstd'],
  ['*;q=0', 'identity'],
  ['identity;q=1, gzip;q=0.5', 'identity'],
  ['identity;q=0, gzip;q=0.5', 'gzip'],
  ['x-gzip', 'gzip'],
  ['gzip;q=2', 'identity'],
  ['gzip;q=abc', 'identity'],
  [',,;q=1', 'identity'],
  ['identity;q=0.5, gzip;q=0.5', 'gzip'],
  ['gzip;q=0.', 'identity'],
  ['gzip;q=0.12', 'gzip'],
  ['gzip;q=0.1234', 'identity'],
  ['gzip;q=1.000', 'gzip'],
  ['gzip;q=1.001', 'identity'],
  ['gzip;q=1.0000', 'identity'],
  ['gzip;q= 0.5', 'gzip'],
  ['gzip;q=x0.5', 'identity'],
  ['gzip;q=0.5x', 'identity'],
  ['gzip;level=1;q=0', 'identity'],
  ['gzip;xq=0', 'gzip'],
  ['*;q=0.5, identity', 'identity'],
])('behavior: %s gives %s', (header, encoding) => {
  expect(negotiateEncoding(header, all)).toBe(encoding);
});

test('behavior: an encoding that the runtime does not support is never chosen', () => {
  expect(negotiateEncoding('zstd, gzip;q=0.1', ['gzip', 'identity'])).toBe('gzip');
});
