import { InvalidArgumentError } from 'commander';
import { expect, test } from 'vitest';
import { parseRetention } from '../app/config/parse-retention.ts';
import { retentionOption } from './parse-option.ts';

test.each([
  ['all', { kind: 'all' }],
  ['100000', { kind: 'blocks', count: 100_000 }],
  ['1', { kind: 'blocks', count: 1 }],
  ['7d', { kind: 'seconds', seconds: 604_800 }],
  ['50GB', { kind: 'bytes', bytes: 50_000_000_000 }],
  ['2KB', { kind: 'bytes', bytes: 2_000 }],
  ['3MB', { kind: 'bytes', bytes: 3_000_000 }],
  ['1TB', { kind: 'bytes', bytes: 1_000_000_000_000 }],
])('default: %s is accepted', (text, retention) => {
  expect(retentionOption(text)).toBe(text);
  expect(parseRetention(text)).toEqual(retention);
});

test.each([
  '',
  '0',
  '0d',
  '-1',
  '1.5GB',
  '7 d',
  '7D',
  '50gb',
  '50G',
  'ALL',
  '9'.repeat(20),
  '99999TB',
])('error: %j is refused', (text) => {
  expect(() => retentionOption(text)).toThrow(InvalidArgumentError);
});
