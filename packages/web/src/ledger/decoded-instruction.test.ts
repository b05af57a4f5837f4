import { expect, test } from 'vitest';
import { accountNames, decodedLine, shownArguments, shownEvents } from './decoded-instruction.ts';

const decoded = {
  program: 'amm',
  name: 'swap',
  args: { amount: '18446744073709551615', route: [1, { Side: null }] },
  accounts: { user: 'U', referrer: null, fee_account: 'F' },
  remaining: ['R'],
  events: [
    { program: 'amm', name: 'Swapped', args: { fee: 3 } },
    { program: 'amm', name: null, error: 'too short', raw: '0x' },
  ],
};

test('behavior: accounts have their names, whether an absent one is left out or replaced by the program', () => {
  expect(accountNames(decoded, ['U', 'F', 'R'], 'P')).toEqual(['user', 'fee account']);
  expect(accountNames(decoded, ['U', 'P', 'F', 'R'], 'P')).toEqual([
    'user',
    'referrer',
    'fee account',
  ]);
});

test('behavior: arguments and events are shown with every digit, and errors with their reason', () => {
  expect(shownArguments(decoded)).toEqual([
    ['amount', '18446744073709551615'],
    ['route', '[1,{"Side":null}]'],
  ]);
  expect(shownEvents(decoded)).toEqual([
    { name: 'Swapped', values: [['fee', '3']] },
    { name: 'unknown event', values: [['error', 'too short']] },
  ]);
});

test('behavior: one line has the names, the arguments and the events, or the reason why there are none', () => {
  expect(decodedLine(decoded)).toEqual({
    program: 'amm',
    name: 'swap',
    text: 'amount 18446744073709551615, route [1,{"Side":null}] → Swapped → unknown event',
  });
  const unknown = { program: null, name: null, error: 'no IDL is registered', raw: '0x01' };
  expect(decodedLine(unknown)).toEqual({
    program: 'no IDL',
    name: 'unknown',
    text: 'no IDL is registered',
  });
});
