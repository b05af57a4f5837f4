import { expect, test } from 'vitest';
import { isCodedError } from '../base/errors.ts';
import { decideAccess } from './listen-policy.ts';

test.each(['127.0.0.1', '127.9.9.9', 'localhost', '::1'])(
  'default: %s needs no decision',
  (host) => {
    expect(decideAccess({ host })).toBeNull();
  },
);

test.each(['0.0.0.0', '::', '192.168.0.1', '127.evil.example', 'example.org'])(
  'error: auth-undecided: %s needs one, and the refusal prints both (S-01)',
  (host) => {
    try {
      decideAccess({ host });
      expect.unreachable();
    } catch (error) {
      expect(isCodedError(error, 'auth-undecided')).toBe(true);
      expect(String(error)).toMatch(/--auth none.*--keys FILE/);
    }
    expect(decideAccess({ host, auth: 'none' })).toBeNull();
  },
);

test('error: cli-file-unreadable: a key file that is not there', () => {
  const file = '/nonexistent/keys';
  expect(() => decideAccess({ host: '127.0.0.1', keys: file })).toThrow('/nonexistent/keys');
});
