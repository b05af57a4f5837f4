import { isCodedError } from '@sluice/base/errors';
import { expect, test } from 'vitest';
import type { ConfigOrigin } from './config/config-tree.ts';
import { type AccessConfig, decideAccess } from './listen-policy.ts';

const decide = (
  listen: AccessConfig['config']['listen'],
  origins = new Map<string, ConfigOrigin>(),
) =>
  decideAccess({
    config: { listen },
    tree: { value: {}, origins, unset: [] },
    file: 'sluice.yaml',
  });

test.each(['127.0.0.1', '127.9.9.9', 'localhost', '::1'])(
  'default: %s needs no explicit choice',
  (host) => {
    expect(decide({ host })).toBeNull();
  },
);

test.each(['0.0.0.0', '::', '192.168.0.1', '127.evil.example', 'example.org'])(
  'error: auth-undecided: %s needs an explicit choice, and the error names both options (S-01)',
  (host) => {
    try {
      decide({ host });
      expect.unreachable();
    } catch (error) {
      expect(isCodedError(error, 'auth-undecided')).toBe(true);
      expect(String(error)).toMatch(/--auth none.*--keys FILE/);
    }
    expect(decide({ host, auth: 'none' })).toBeNull();
  },
);

test('error: cli-file-unreadable: the key file does not exist', () => {
  const file = '/nonexistent/keys';
  expect(() => decide({ host: '127.0.0.1', keys: file })).toThrow('/nonexistent/keys');
});

test('error: a key file in a configuration is reported with key and line, one from a variable without its value', () => {
  const listen = { host: '127.0.0.1', keys: '/nonexistent/keys' };
  const named = () => decide(listen, new Map([['listen.keys', { line: 3 }]]));
  expect(named).toThrow(
    'file sluice.yaml, key listen.keys, line 3, found "/nonexistent/keys", expected a key file, fault cli-file-unreadable, reason no such file or directory',
  );
  const template = '${FILE}';
  const varied = () => decide(listen, new Map([['listen.keys', { line: 3, template }]]));
  expect(varied).toThrow('line 3, found "${FILE}", expected a key file');
  expect(varied).not.toThrow('nonexistent');
});
