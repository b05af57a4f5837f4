import { isCodedError } from '@sluice/base/errors';
import { describe, expect, test } from 'vitest';
import { type ContentInput, parseContentOptions } from './content-options.ts';

describe('content-options', () => {
  test('default: a small ledger of the current era with a few votes', () => {
    expect(parseContentOptions()).toEqual({
      seed: 1,
      profile: 'demo',
      era: '2026',
      transactionsPerBlock: 8,
      votesPerBlock: 3,
      failureRate: 0.25,
      version1Rate: 0,
      slotsPerEpoch: 432_000,
      epochRewardsPerBlock: 40,
      oddities: null,
    });
  });

  test('behavior: the number of votes is that of the profile, none, or the requested mean', () => {
    expect(parseContentOptions({ profile: '2025' }).votesPerBlock).toBe(900);
    expect(parseContentOptions({ profile: '2025', votes: false }).votesPerBlock).toBe(0);
    expect(parseContentOptions({ votes: 12 }).votesPerBlock).toBe(12);
  });

  test.each<[string, ContentInput]>([
    ['seed', { seed: -1 }],
    ['seed', { seed: 1.5 }],
    ['profile', { profile: 'huge' as 'demo' }],
    ['profile', { profile: 'constructor' as 'demo' }],
    ['era', { era: '1999' as '2020' }],
    ['transactionsPerBlock', { transactionsPerBlock: 4001 }],
    ['transactionsPerBlock', { transactionsPerBlock: Number.NaN }],
    ['votes', { votes: -1 }],
    ['failureRate', { failureRate: 1.1 }],
    ['version1Rate', { version1Rate: 0.1, era: '2021' }],
    ['slotsPerEpoch', { slotsPerEpoch: 0 }],
    ['epochRewardsPerBlock', { epochRewardsPerBlock: 0.5 }],
  ])('error: simulator-option-invalid names %s', (option, input) => {
    try {
      parseContentOptions(input);
      expect.unreachable();
    } catch (error) {
      expect(isCodedError(error, 'simulator-option-invalid') && error.detail['option']).toBe(
        option,
      );
    }
  });
});
